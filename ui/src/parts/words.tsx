// A sentence of a report. What stands between backticks there is code. Where it ends with code, its
// full stop is left out: it could stand on a line of its own.

export function Words({ text }: { text: string }) {
  return (
    <>
      {text.replace(/`\.$/, "`").split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
    </>
  );
}
