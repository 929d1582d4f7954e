// A sentence of a report or of the page. What stands between backticks there is code. In a file, the
// command that opens the recording itself has the recording's name, or the query. Where a sentence ends with code, its
// full stop is left out: it could stand on a line of its own.

import type { About } from "../about";
import { isFile, useAnswer } from "../ask";
import { framedBy } from "../place";

const WHOLE = "profundo view FILE";

export function Words({ text }: { text: string }) {
  const { value: about } = useAnswer<About>(isFile ? "about" : undefined);
  // A profile that a notebook shows may be in no file.
  const isNamed = about !== undefined && about.recordings.length > 0 && framedBy("title") === "";
  const command = isNamed ? `profundo view ${about.recordings.map(({ word }) => word).join(" ")}` : WHOLE;
  return (
    <>
      {text.replace(/`\.$/, "`").split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part === WHOLE ? command : part}</code> : part))}
    </>
  );
}
