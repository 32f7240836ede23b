/** Terms with their values, one under the other. Facts without a value are left out. */
import type { ComponentChildren } from "preact";

export type Fact = readonly [term: string, value: ComponentChildren];

export function Facts({ facts }: { facts: readonly (Fact | null | false)[] }) {
  return (
    <dl class="readout facts">
      {facts.map((fact) =>
        fact === null || fact === false ? null : (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd title={typeof fact[1] === "string" ? fact[1] : undefined}>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
