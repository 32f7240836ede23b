/** A few links, and a way to see the rest. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../format";

const FEW = 8;
const MANY = 500;

export function Links({ items }: { items: readonly ComponentChildren[] }) {
  const [isAll, setIsAll] = useState(false);
  const shown = items.slice(0, isAll ? MANY : FEW);
  const hidden = items.length - shown.length;
  return (
    <span class="links">
      {shown.map((item, at) => (
        <span key={at}>{item}</span>
      ))}
      {hidden > 0 &&
        (isAll ? (
          <span class="muted">and {formatCount(hidden)} more</span>
        ) : (
          <button class="link" onClick={() => setIsAll(true)}>
            {formatCount(hidden)} more
          </button>
        ))}
    </span>
  );
}
