/** How alike layers see the items: each against each, and how much labels count in each of them. */
import { useMemo } from "preact/hooks";
import { formatCount, formatValue } from "../format";
import { rank, runId } from "../netview/netrun";
import { setParams } from "../route";
import { askOf } from "../sections/asking";
import { useAsked } from "../sections/useAsked";
import { stepClass, type Scale } from "../tensor/colour";
import { ColourScale } from "../inspector/ColourScale";
import type { NetLikenessAnswer } from "../wire";
import { numAwaited, singlesOf } from "./answers";
import { first, layers, metric, second } from "./choosing";
import { items } from "./items";
import { chosenScale } from "./scales";

const MOST_LAYERS = 64;
/** Numbers can be read in cells of this many layers. */
const MOST_NUMBERS = 5;
const USUAL: Scale = { map: "div", low: -1, high: 1 };

interface Likeness {
  readonly head: NetLikenessAnswer;
  readonly values: Float32Array;
  readonly items: unknown;
}

export function LikenessPanel() {
  const all = items.value;
  const names = layers.value.slice(-MOST_LAYERS).map(({ name }) => name);
  const kind = metric.value;
  // After the main pictures: it takes longer than they do.
  const isWanted = all !== null && names.length > 1 && numAwaited.value === 0;
  const { value, problem, retry } = useAsked<Likeness>(
    isWanted
      ? {
          key: JSON.stringify([all.runId, rank.value, all.choice, names, kind]),
          version: "",
          ask: async () => {
            const asked = { run_id: runId.peek(), rank: rank.peek(), choice: all.choice, layers: names, metric: kind };
            const reply = await askOf({ type: "net_likeness", ...asked }, "net_likeness");
            return { head: reply.answer, values: singlesOf(reply, names.length ** 2), items: all };
          },
        }
      : null,
  );
  if (names.length < 2) return null;
  return (
    <section class="an-likeness" aria-label="Layers compared" aria-busy={value?.items !== all && problem === ""}>
      <div class="panel-head">
        <h2>Layers compared</h2>
        <span class="grow" />
        {layers.value.length > MOST_LAYERS && <span class="muted fs-1">the last {MOST_LAYERS}</span>}
      </div>
      <div class="pad">
        {problem !== "" && (
          <p class="hint" role="alert">
            {problem}{" "}
            <button class="link" onClick={retry}>
              Try again
            </button>
          </p>
        )}
        {value === null && problem === "" && <i class="skeleton late" style={{ height: "160px" }} />}
        {value !== null && <Layers likeness={value} />}
      </div>
    </section>
  );
}

function Layers({ likeness: { head, values } }: { likeness: Likeness }) {
  const count = head.layers.length;
  const { scale, isAuto, set } = chosenScale("likeness", null, USUAL);
  const hasNumbers = count <= MOST_NUMBERS;
  const left = useMemo(() => head.layers.filter(({ why }) => why !== ""), [head]);
  const hasLabels = head.layers.some(({ contrast }) => contrast !== null);
  return (
    <>
      <p class="muted fs-1">Rank correlation of how two layers order all pairs of items. Click a cell to see both.</p>
      <table class={hasNumbers ? "an-cells numbers" : "an-cells"} aria-label="Rank correlation of layers">
        <tbody>
          {head.layers.map(({ layer, contrast, why }, row) => (
            <tr key={layer}>
              <th scope="row" title={why === "" ? layer : `${layer}: ${why}`} class={isChosen(layer) ? "on" : ""}>
                <span>{layer}</span>
              </th>
              {head.layers.map(({ layer: other }, column) => {
                const value = values[row * count + column]!;
                const text = Number.isNaN(value) ? "not defined" : hundredths(value);
                return (
                  <td key={other} class={Number.isNaN(value) ? "none" : `cell ${stepClass(scale, value)}`}>
                    <button
                      title={`${layer} and ${other}: ${text}`}
                      aria-label={`${layer} and ${other}: ${text}`}
                      tabIndex={column === 0 ? 0 : -1}
                      onKeyDown={moveFocus}
                      onClick={() => setParams({ one: layer, two: other === layer ? null : other })}
                    >
                      {hasNumbers && !Number.isNaN(value) ? text : ""}
                    </button>
                  </td>
                );
              })}
              {hasLabels && <td class="contrast">{contrast?.contrast == null ? "" : short(contrast.contrast)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {hasLabels && <p class="muted fs-1 an-right">last column: contrast of labels</p>}
      <ColourScale scale={scale} isAuto={isAuto} onChange={set} />
      {left.length > 0 && (
        <p class="muted fs-1" title={left.map(({ layer, why }) => `${layer}: ${why}`).join("\n")}>
          {formatCount(left.length)} {left.length === 1 ? "layer is" : "layers are"} not compared: {left[0]!.why}
        </p>
      )}
    </>
  );
}

/** All alike, so that they line up: 0.95, 1.00. */
function hundredths(value: number): string {
  return value.toFixed(2).replace(/^-(?!0\.00$)/, "\u2212").replace("-", "");
}

function short(value: number): string {
  return Math.abs(value) < 100 ? hundredths(value) : formatValue(value, 2);
}

function isChosen(layer: string): boolean {
  return first.value?.name === layer || second.value?.name === layer;
}

/** Arrows lead from cell to cell. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const cell = (event.currentTarget as HTMLElement).closest("td");
  const row = cell?.closest("tr");
  if (by === undefined || cell == null || row == null) return;
  event.preventDefault();
  event.stopPropagation();
  const table = row.closest("table")!;
  const next = table.rows[row.rowIndex + by[0]!]?.cells[cell.cellIndex + by[1]!];
  next?.querySelector("button")?.focus();
}
