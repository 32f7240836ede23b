/** A, B and what is between them, side by side. */
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import { TensorSkeleton } from "../inspector/TensorSkeleton";
import { Icon } from "../shell/Icon";
import type { TensorValues } from "../source/source";
import { autoScale, type Scale } from "../tensor/colour";
import type { Start } from "../tensor/window";
import type { RecordListing } from "../wire";
import { Agreement } from "./Agreement";
import { CompareColumn } from "./CompareColumn";
import { differenceOf, type Difference } from "./difference";
import { Downloads } from "./Downloads";
import * as store from "./store";
import { useScale, widest } from "./useScale";

interface Props {
  a: RecordListing;
  b: RecordListing;
  valuesA: TensorValues;
  valuesB: TensorValues;
}

export function CompareColumns({ a, b, valuesA, valuesB }: Props) {
  const [start, setStart] = useState<Start>({ tiles: 0, rows: 0, columns: 0 });
  const both = useScale(widest([valuesA.view, valuesB.view]));
  const [fixed, setFixed] = useState<Scale | null>(null);
  const between = differenceOf(valuesA, valuesB);
  const shared = { start, onStart: setStart };
  const scaled = { scale: both.scale, isAuto: both.isAuto, onScale: both.setFixed };
  return (
    <div class="tensor-columns three">
      <CompareColumn title={<StepTitle name="A" record={a} />} base={valuesA} {...scaled} {...shared} />
      <CompareColumn title={<OtherStep record={b} />} base={valuesB} {...scaled} {...shared} />
      {between === null ? (
        <TensorSkeleton />
      ) : (
        <CompareColumn
          title={
            <>
              <b>A − B</b>
              <Agreement difference={between} />
            </>
          }
          base={between.between}
          scale={fixed ?? differenceScale(between)}
          isAuto={fixed === null}
          onScale={setFixed}
          {...shared}
        >
          <Downloads subject={null} base={between.between} suffix={`-minus-${b.step}`} />
        </CompareColumn>
      )}
    </div>
  );
}

/** Around zero, also where all differences have one sign. */
function differenceScale({ largest, between }: Difference): Scale {
  return largest === null || largest === 0
    ? autoScale(between.view)
    : { map: "div", low: -largest, high: largest };
}

function StepTitle({ name, record }: { name: string; record: RecordListing }) {
  return (
    <span>
      <b>{name}</b> <span class="muted">step {formatCount(record.step)}</span>
    </span>
  );
}

/** B has steps of its own: the time bar is that of A. */
function OtherStep({ record }: { record: RecordListing }) {
  const at = store.otherAt.value ?? 0;
  const count = store.records.value.length;
  return (
    <span class="row">
      <StepTitle name="B" record={record} />
      <span class="group">
        <button
          class="btn sm square"
          aria-label="B one step back"
          disabled={at <= 0}
          onClick={() => store.compareWith(at - 1)}
        >
          <Icon name="left" />
        </button>
        <button
          class="btn sm square"
          aria-label="B one step on"
          disabled={at >= count - 1}
          onClick={() => store.compareWith(at + 1)}
        >
          <Icon name="right" />
        </button>
      </span>
      <input
        class="grow"
        type="range"
        aria-label="Step of B"
        aria-valuetext={`step ${record.step}`}
        min={0}
        max={Math.max(0, count - 1)}
        value={at}
        onInput={(event) => store.compareWith(Number(event.currentTarget.value))}
      />
    </span>
  );
}
