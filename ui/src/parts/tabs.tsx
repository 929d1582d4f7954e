// Tables of one view, of which one is shown. The chosen one stands in the address.

import { change, usePlace } from "../place";

export interface Tab {
  name: string;
  title: string;
  /** How many rows it has, where that is known. */
  rows?: number;
  /** A sentence that says what it is. */
  about?: string;
}

/** The chosen tab: that of the address, else the first. */
export function useTab(tabs: Tab[], key = "table"): string {
  const place = usePlace();
  return tabs.find(({ name }) => name === place.values[key])?.name ?? tabs[0]?.name ?? "";
}

export function Tabs({ tabs, chosen, label, name: key = "table" }: { tabs: Tab[]; chosen: string; label: string; name?: string }) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      const at = tabs.findIndex(({ name }) => name === chosen);
      const next = tabs[(at + step + tabs.length) % tabs.length];
      change({ [key]: next.name });
      const list = event.currentTarget as HTMLElement;
      list.querySelector<HTMLElement>(`[data-tab="${next.name}"]`)?.focus();
    }
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(({ name, title, rows, about }) => (
        <button
          key={name}
          type="button"
          role="tab"
          data-tab={name}
          title={about}
          aria-selected={name === chosen}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => change({ [key]: name })}
        >
          {title}
          {rows !== undefined && <span class="soft"> {rows}</span>}
        </button>
      ))}
    </div>
  );
}
