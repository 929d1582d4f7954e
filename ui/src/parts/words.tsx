// A sentence of a report. What stands between backticks there is code.

export function Words({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
    </>
  );
}
