/** A similarity matrix: items down and across, with the labels beside them. */
import { useEffect, useRef } from "preact/hooks";
import { formatValue } from "../format";
import { themeTick } from "../store";
import type { Scale } from "../tensor/colour";
import { current } from "./choosing";
import { labelColour, readNumberInks } from "./colours";
import type { Items } from "./items";
import { paintMatrix, rowsOf, stretchesOf, type Matrix } from "./matrix";
import { goToItem, stepItem } from "./ReadingLine";
import { useSize } from "./useSize";

interface Props {
  matrix: Matrix;
  items: Items;
  order: readonly number[];
  scale: Scale;
  summary: string;
  /** The other item of the pair under the pointer: its column is marked. */
  other: number | null;
  onPair: (other: number | null) => void;
}

const BAND = 8;
const NAMES = 76;
const LINE = 13;

export function MatrixPicture({ matrix, items, order, scale, summary, other, onPair }: Props) {
  const [box, room] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = rowsOf(matrix, order);
  const count = rows.length;
  const hasLabels = items.labels.length > 0;
  const margin = hasLabels ? NAMES : 0;
  const side = Math.max(0, Math.floor(Math.min(room.width - margin - BAND - 4, room.height - BAND - 4)));
  const tick = themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context == null || count === 0) return;
    const pixels = paintMatrix(matrix, rows, scale, readNumberInks(scale.map));
    context.putImageData(new ImageData(pixels, count, count), 0, 0);
  }, [matrix, order.join(), scale.low, scale.high, scale.map, tick, count, side > 0]);
  const stretches = hasLabels ? stretchesOf(order, items) : [];
  const cell = side / Math.max(1, count);
  const at = current.value === null ? -1 : order.indexOf(current.value);
  const across = Math.max(0, other === null ? at : order.indexOf(other));
  const pointAt = (event: PointerEvent): void => {
    const area = canvas.current?.getBoundingClientRect();
    if (area === undefined) return;
    const of = (part: number): number | undefined => order[Math.max(0, Math.min(count - 1, Math.floor(part * count)))];
    current.value = of((event.clientY - area.top) / area.height) ?? null;
    onPair(of((event.clientX - area.left) / area.width) ?? null);
  };
  return (
    <div class="an-room" ref={box}>
      {side > 0 && (
        <div
          class="an-matrix"
          style={{ width: `${side + margin + BAND}px`, height: `${side + BAND}px` }}
          role="img"
          aria-label={summary}
          tabIndex={0}
          onKeyDown={(event) => {
            stepItem(event, order, items);
            onPair(null);
          }}
          onPointerLeave={() => {
            current.value = null;
            onPair(null);
          }}
        >
          <canvas
            ref={canvas}
            width={count}
            height={count}
            style={{ left: `${margin + BAND}px`, top: `${BAND}px`, width: `${side}px`, height: `${side}px` }}
            onPointerMove={pointAt}
            onClick={() => current.peek() !== null && goToItem(items, current.peek()!)}
          />
          <svg width={side + margin + BAND} height={side + BAND} aria-hidden="true">
            {stretches.map(({ label, from, count: size }, one) => {
              const fill = labelColour(label, items.labels.length);
              const [start, length] = [from * cell, size * cell];
              return (
                <g key={one}>
                  <rect x={margin} y={BAND + start} width={BAND - 2} height={Math.max(1, length - 1)} fill={fill} />
                  <rect x={margin + BAND + start} y={0} width={Math.max(1, length - 1)} height={BAND - 2} fill={fill} />
                  {length >= LINE && (
                    <text x={margin - 4} y={BAND + start + length / 2 + 4} class="e">
                      {shortened(items.labels[label ?? 0] ?? "")}
                    </text>
                  )}
                </g>
              );
            })}
            {at >= 0 && (
              <>
                <rect class="an-line" x={margin + BAND} y={BAND + at * cell} width={side} height={cell} />
                <rect class="an-line" x={margin + BAND + across * cell} y={BAND} width={cell} height={side} />
                <rect class="an-outline" x={margin + BAND + across * cell} y={BAND + at * cell} width={cell} height={cell} />
              </>
            )}
          </svg>
        </div>
      )}
    </div>
  );
}

function shortened(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 11)}…`;
}

/** In a sentence, for those who do not see it. */
export function summaryOf(layer: string, matrix: Matrix, metric: string, range: { min: number; max: number } | null): string {
  const between = range === null ? "" : `, of pairs from ${formatValue(range.min, 3)} to ${formatValue(range.max, 3)}`;
  return `How alike ${layer} sees ${matrix.places.length} items, by ${metric}${between}. Arrows move, Enter shows the item in the network.`;
}
