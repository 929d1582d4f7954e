// A menu at a point. Arrow keys choose, Escape closes.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface Choice {
  title: string;
  run: () => void;
}

export function Menu({ x, y, choices, onClose }: { x: number; y: number; choices: Choice[]; onClose: () => void }) {
  const list = useRef<HTMLUListElement>(null);
  // Before the next key: it is the menu's.
  useLayoutEffect(() => list.current?.querySelector("button")?.focus(), []);
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
    <ul class="menu" ref={list} role="menu" style={{ left: `${x}px`, top: `${y}px` }} onKeyDown={onKeyDown}>
      {choices.map(({ title, run }) => (
        <li key={title} role="none">
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
