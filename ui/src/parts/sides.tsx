// Which recording a view shows, of those that are compared: one before, or one after, in words.

import type { About } from "../about";
import { moment } from "../numbers";
import { change, usePlace } from "../place";

export function Sides({ about }: { about: About }) {
  const place = usePlace();
  const shown = Number(place.values.recording ?? 0);
  return (
    <div class="filters" role="region" aria-label="The recording that is shown">
      {about.recordings.map(({ name, command, started_unix_seconds }, at) => (
        <button
          key={at}
          type="button"
          aria-pressed={at === shown}
          title={[command ?? "", moment(started_unix_seconds)].filter((word) => word !== "").join(" · ")}
          onClick={() => change({ recording: at === 0 ? "" : String(at), path: "" })}
        >
          {about.before === null || at < about.before ? "before" : "after"}: <b>{name}</b>
        </button>
      ))}
    </div>
  );
}
