// The page around the views: what was recorded, the views that there are, the filter, the details.

import { useEffect, useState } from "preact/hooks";

import { namesOf, type About, type AboutRecording } from "./about";
import { useAnswer } from "./ask";
import { base, nameFile } from "./numbers";
import { Details } from "./parts/details";
import { Export } from "./parts/export";
import { Filters } from "./parts/filters";
import { Keys } from "./parts/keys";
import { Live } from "./parts/live";
import { Offline } from "./parts/offline";
import { Sides } from "./parts/sides";
import { Waiting } from "./parts/waiting";
import { Words } from "./parts/words";
import { framedBy, link, show, usePlace } from "./place";
import { firstView, HEAP, VIEWS, viewsOfHeaps } from "./views";

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
  const known = about.value;
  recording?.cells?.forEach(({ file, name }) => nameFile(file, name));
  // Without a recording, the views of heap snapshots are all there is.
  const ofHeaps = known !== undefined && known.recordings.length === 0 ? viewsOfHeaps(known) : undefined;
  const views: { name: string; title: string }[] = ofHeaps ?? VIEWS.filter(({ isThere }) => known !== undefined && recording !== undefined && isThere(recording, known));
  if (ofHeaps === undefined && known !== undefined && known.snapshots.length > 0) {
    views.push(HEAP);
  }
  const bare = place.view === HEAP.name ? HEAP : (ofHeaps?.find(({ name }) => name === place.view) ?? ofHeaps?.[0]);
  const names = known === undefined ? "" : namesOf(known);
  useEffect(() => {
    document.title = names === "" ? "Profundo" : `${names} – Profundo`;
  }, [names]);
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
  const wanted = VIEWS.some(({ name }) => name === place.view) ? place.view : firstView(known);
  const view = VIEWS.find(({ name }) => name === wanted) ?? VIEWS[0];
  const shownName = bare?.name ?? view.name;
  // On a phone, the tabs scroll: the chosen one is on the screen.
  useEffect(() => {
    document.querySelector("nav.views a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [shownName, views.length]);
  return (
    <>
      <header class="head">
        <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
          To the content
        </a>
        <span class="brand">profundo</span>
        <span class="command" title={recording?.command ?? recording?.word ?? ""}>
          {framedBy("title") || (known?.recordings.length === 1 ? shortCommand(recording) : names)}
        </span>
        {recording !== undefined && <Export recording={recording} />}
        <label class="theme">
          <span class="hidden">Theme</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
            {THEMES.map((theme) => (
              <option key={theme} value={theme}>
                {`${theme} theme`}
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
      {known !== undefined && known.recordings.length > 1 && shownName !== "compare" && shownName !== HEAP.name && <Sides about={known} />}
      {recording !== undefined && <Live recording={recording} />}
      {bare === undefined && <Filters recording={recording} />}
      <Offline />
      {isHelp && <Keys />}
      <main id="main" tabIndex={-1} class={`view view-${shownName}`}>
        <Waiting answer={about}>
          {(about) => {
            const chosen = about.recordings[Number(place.values.recording ?? 0)];
            return bare !== undefined ? (
              <bare.View recording={chosen} />
            ) : chosen === undefined ? (
              <p class="refusal">There is no such recording on this page.</p>
            ) : view.isThere(chosen, about) ? (
              <view.View recording={chosen} />
            ) : (
              <p class="refusal"><Words text={view.missing} /></p>
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
