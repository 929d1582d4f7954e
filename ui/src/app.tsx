// The page around the views: what was recorded, the views that there are, the filter, the details.

import { useEffect, useState } from "preact/hooks";

import type { About, AboutRecording } from "./about";
import { useAnswer } from "./ask";
import { base } from "./numbers";
import { Details } from "./parts/details";
import { Export } from "./parts/export";
import { Filters } from "./parts/filters";
import { Keys } from "./parts/keys";
import { Waiting } from "./parts/waiting";
import { link, show, usePlace } from "./place";
import { HEAP, VIEWS } from "./views";

const THEMES = ["system", "light", "dark"] as const;

function remembered(): string {
  try {
    return localStorage.getItem("profundo-theme") ?? "system";
  } catch {
    return "system";
  }
}

export function App() {
  const place = usePlace();
  const about = useAnswer<About>("about");
  const [theme, setTheme] = useState(remembered);
  const [isHelp, setHelp] = useState(false);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("profundo-theme", theme);
    } catch {
      // A page within another one may remember nothing.
    }
  }, [theme]);
  const recording = about.value?.recordings[Number(place.values.recording ?? 0)];
  const snapshots = about.value?.snapshots ?? [];
  const views: { name: string; title: string }[] = VIEWS.filter(({ isThere }) => recording !== undefined && isThere(recording));
  if (snapshots.length > 0) {
    views.push(HEAP);
  }
  const isHeap = place.view === HEAP.name || (snapshots.length > 0 && about.value?.recordings.length === 0);
  useEffect(() => {
    document.title = recording === undefined && snapshots.length === 0 ? "Profundo" : `${(recording ?? snapshots[0]).name} – Profundo`;
  }, [recording, snapshots[0]?.name]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
        return;
      }
      if (event.key === "?") {
        setHelp((is) => !is);
      } else if (event.key === "Escape") {
        setHelp(false);
      } else if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-search]")?.focus();
      } else if (/^[1-9]$/.test(event.key) && views[Number(event.key) - 1] !== undefined) {
        show(views[Number(event.key) - 1].name);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const view = VIEWS.find(({ name }) => name === place.view) ?? VIEWS[0];
  const shownName = isHeap ? HEAP.name : view.name;
  return (
    <>
      <header class="head">
        <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
          To the content
        </a>
        <span class="brand">profundo</span>
        <span class="command" title={recording?.command ?? ""}>
          {recording === undefined ? snapshots.map(({ name }) => name).join(", ") : shortCommand(recording)}
        </span>
        {recording !== undefined && <Export recording={recording} />}
        <label class="theme">
          <span class="hidden">Theme</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
            {THEMES.map((theme) => (
              <option key={theme} value={theme}>
                {theme}
              </option>
            ))}
          </select>
        </label>
        <button type="button" class="plain" onClick={() => setHelp(!isHelp)} aria-expanded={isHelp}>
          Keys
        </button>
      </header>
      <nav class="views" aria-label="Views">
        {views.map(({ name, title }) => (
          <a key={name} href={link(name)} aria-current={name === shownName ? "page" : undefined}
            onClick={(event) => { event.preventDefault(); show(name); }}>
            {title}
          </a>
        ))}
      </nav>
      {!isHeap && <Filters recording={recording} />}
      {isHelp && <Keys />}
      <main id="main" tabIndex={-1} class={`view view-${shownName}`}>
        <Waiting answer={about}>
          {(about) => {
            const chosen = about.recordings[Number(place.values.recording ?? 0)];
            return isHeap ? (
              <HEAP.View recording={chosen} />
            ) : chosen === undefined ? (
              <p class="refusal">There is no such recording on this page.</p>
            ) : view.isThere(chosen) ? (
              <view.View recording={chosen} />
            ) : (
              <p class="refusal">{view.missing}</p>
            );
          }}
        </Waiting>
      </main>
      <Details />
    </>
  );
}

/** The command without the folders of its program. */
function shortCommand(recording: AboutRecording | undefined): string {
  const command = recording?.command ?? recording?.name ?? "";
  const [program, ...words] = command.split(" ");
  return [base(program), ...words].join(" ");
}
