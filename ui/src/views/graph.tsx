// The call graph and the square map: pictures that the command draws, as they are.

import { useEffect, useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useVersion } from "../ask";
import { shared } from "../parts/asked";
import { useDark } from "../parts/dark";
import { bytesOf } from "../parts/files";
import { change, usePlace } from "../place";

const BY: [string, string][] = [
  ["", "functions"],
  ["file", "files"],
  ["package", "packages"],
  ["module", "libraries"],
];

export function GraphView(_: { recording: AboutRecording }) {
  const place = usePlace();
  return (
    <section class="flame" aria-label="Call graph">
      <div class="tools">
        <label>
          Boxes are{" "}
          <select value={place.values.by ?? ""} onChange={(event) => change({ by: event.currentTarget.value })}>
            {BY.map(([by, title]) => (
              <option key={by} value={by}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          at most{" "}
          <select value={place.values.nodes ?? "60"} onChange={(event) => change({ nodes: event.currentTarget.value })}>
            {["20", "40", "60", "120", "250"].map((nodes) => (
              <option key={nodes}>{nodes}</option>
            ))}
          </select>
        </label>
        <span class="soft">Arrows lead from callers to callees; their width is the time that passes along them.</span>
      </div>
      <Drawn format="graph" values={{ by: place.values.by ?? "", nodes: place.values.nodes ?? "60" }} label="Call graph" />
    </section>
  );
}

export function SquareView(_: { recording: AboutRecording }) {
  return (
    <section class="flame" aria-label="Square map">
      <div class="tools">
        <span class="soft">Each square is a function, as large as its time; inside it are the functions that it calls.</span>
      </div>
      <Drawn format="square" values={{}} label="Square map" />
    </section>
  );
}

/** A picture, which fits into the view or has its own size. */
function Drawn({ format, values, label }: { format: string; values: Record<string, string>; label: string }) {
  const place = usePlace();
  const version = useVersion();
  const isDark = useDark();
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const [address, setAddress] = useState("");
  const [isLarge, setLarge] = useState(false);
  const question = JSON.stringify({ ...shared(place), ...values, format });
  useEffect(() => {
    let isWanted = true;
    bytesOf("export", JSON.parse(question))
      .then((bytes) => bytes.text())
      .then((text) => isWanted && (setText(text), setError("")))
      .catch((error: Error) => isWanted && setError(error.message));
    return () => {
      isWanted = false;
    };
  }, [question, version]);
  useEffect(() => {
    if (text === "") {
      return;
    }
    // The picture follows the system; the page may have been told otherwise.
    const themed = text.replaceAll("@media (prefers-color-scheme:dark)", isDark ? "@media all" : "@media not all");
    const made = URL.createObjectURL(new Blob([themed], { type: "image/svg+xml" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [text, isDark]);
  if (error !== "") {
    return (
      <p class="refusal" role="alert">
        {error}
      </p>
    );
  }
  return (
    <div class="drawn" tabIndex={0} role="region" aria-label={`${label}, which can be scrolled`}>
      {address === "" ? (
        <p class="soft">One moment …</p>
      ) : (
        <button type="button" class="bare" onClick={() => setLarge(!isLarge)} aria-label={isLarge ? "Fit into the page" : "Show at its own size"}>
          <img src={address} alt={`${label}. The view Functions has its numbers as a table.`} class={isLarge ? "large" : "fit"} />
        </button>
      )}
    </div>
  );
}
