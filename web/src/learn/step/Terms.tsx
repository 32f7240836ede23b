/** A sum of products, written out. */
import { factorText } from "../numbers";

/** More than this are only counted. */
const MOST_TERMS = 6;

export function Terms({ terms }: { terms: readonly (readonly number[])[] }) {
  if (terms.length === 0) return <span>0</span>;
  const more = terms.length - MOST_TERMS;
  return (
    <>
      {terms.slice(0, MOST_TERMS).map((factors, at) => (
        <span key={at}>
          {at > 0 && <span class="muted"> + </span>}
          <span class="term">
            {factors.map((factor, place) => (
              <span key={place}>
                {place > 0 && <span class="muted"> × </span>}
                {factorText(factor, at === 0 && place === 0)}
              </span>
            ))}
          </span>
        </span>
      ))}
      {more > 0 && <span class="muted"> + {more} more</span>}
    </>
  );
}
