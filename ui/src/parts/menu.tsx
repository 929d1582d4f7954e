// A menu at a point. Arrow keys choose, Escape closes. Choices with a group stand below its name. A
// free menu is laid over the page, wherever there is room near its point.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface Choice {
  title: string;
  /** What this and the next choices are about. */
  group?: string;
  run: () => void;
}

export function Menu({ x, y, isFree = false, choices, onClose }: { x: number; y: number; isFree?: boolean; choices: Choice[]; onClose: () => void }) {
  const list = useRef<HTMLUListElement>(null);
  // Before the next key: it is the menu's.
  useLayoutEffect(() => {
    const element = list.current;
    if (element !== null && isFree) {
      const around = element.parentElement?.getBoundingClientRect() ?? { left: 0, top: 0 };
      const { width, height } = element.getBoundingClientRect();
      const within = (at: number, size: number, room: number) => `${Math.max(4, Math.min(at, room - size - 4))}px`;
      element.style.left = within(around.left + x, width, innerWidth);
      element.style.top = within(around.top + y, height, innerHeight);
    }
    element?.querySelector("button")?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    const away = (event: Event) => {
      if (!list.current?.contains(event.target as Node)) {
        onClose();
      }
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape") {
      onClose();
    } else if (step !== 0) {
      event.preventDefault();
      buttons[(at + step + buttons.length) % buttons.length]?.focus();
    }
    event.stopPropagation();
  };
  if (choices.length === 0) {
    return null;
  }
  return (
    <ul class={isFree ? "menu free" : "menu"} ref={list} role="menu" style={{ left: `${x}px`, top: `${y}px` }} onKeyDown={onKeyDown}>
      {choices.map(({ title, group, run }, at) => (
        <li key={`${group ?? ""} ${title}`} role="none">
          {group !== undefined && group !== choices[at - 1]?.group && <span class="group">{group}</span>}
          <button
            type="button"
            role="menuitem"
            onClick={() => {
              onClose();
              run();
            }}
          >
            {title}
          </button>
        </li>
      ))}
    </ul>
  );
}
