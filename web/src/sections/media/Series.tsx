/** A series of videos or sounds: a step slider, and a player for each run. */
import { useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { formatCount } from "../../format";
import type { RecordKind } from "../../wire";
import type { FullRecord } from "../asking";
import { Figure } from "../Figure";
import { RunTag } from "../RunTag";
import { holdersOf, type Holder } from "../series";
import { StepSlider, stepByKey } from "../StepSlider";
import { useFullRecords } from "../useFullRecords";
import { useNear } from "../../measuring/useNear";
import { useRecords } from "../useRecords";
import { Waiting } from "../Waiting";
import { wantedOf } from "../wanting";

interface Props {
  kind: RecordKind;
  name: string;
  height: number;
  remark: (record: FullRecord) => string;
  tools: (holder: Holder, record: FullRecord) => ComponentChildren;
  show: (holder: Holder, record: FullRecord) => ComponentChildren;
}

export function Series({ kind, name, height, remark, tools, show }: Props) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const holders = holdersOf(kind, name);
  const stepped = useRecords(kind, name, holders, isNear);
  const { value, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const first = value?.values().next().value;
  return (
    <Figure
      place={place}
      title={name}
      span={holders.length}
      remark={first === undefined ? undefined : remark(first)}
      onKeyDown={(event) => stepByKey(event, stepped)}
    >
      {value === null ? (
        <Waiting
          problem={stepped.problem || problem}
          height={height}
          retry={stepped.state === "failed" ? stepped.retry : retry}
        />
      ) : (
        <>
          <div class="sec-side">
            {holders.map((holder) => {
              const record = value.get(holder.run.id);
              return (
                <div key={holder.run.id} class="sec-one">
                  <div class="sec-one-head">
                    {holders.length > 1 ? <RunTag run={holder.run} /> : <span />}
                    <span class="muted fs-1">
                      {record === undefined ? "begins later" : `step ${formatCount(record.entry.step)}`}
                    </span>
                    {record !== undefined && tools(holder, record)}
                  </div>
                  {record !== undefined && show(holder, record)}
                </div>
              );
            })}
          </div>
          <StepSlider name={name} stepped={stepped} />
        </>
      )}
    </Figure>
  );
}
