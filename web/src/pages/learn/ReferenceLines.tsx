/** Lines that say what something is: `shapes: reshape(x, sizes), …`, the word before the colon set apart. */

export function ReferenceLines({ lines }: { lines: readonly string[] }) {
  return (
    <dl class="reference">
      {lines.map((line) => {
        const [, term, rest] = /^([^:]+):\s*([\s\S]*)$/.exec(line) ?? [undefined, "", line];
        return (
          <div key={line}>
            <dt>{term}</dt>
            <dd>{rest}</dd>
          </div>
        );
      })}
    </dl>
  );
}
