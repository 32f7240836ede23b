/** The confusion matrices of one series: a step slider, and the runs side by side. */
import { useRef } from "preact/hooks";
import { formatCount } from "../../format";
import { Figure } from "../Figure";
import { holdersOf } from "../series";
import { StepSlider } from "../StepSlider";
import { useFullRecords } from "../useFullRecords";
import { useNear } from "../../measuring/useNear";
import { useRecords } from "../useRecords";
import { Waiting } from "../Waiting";
import { wantedOf } from "../wanting";
import { RunMatrix } from "./RunMatrix";

const HEIGHT = 252;
const WIDE_FROM = 14; // classes: then a matrix takes two columns

export function Confusion({ name }: { name: string }) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const holders = holdersOf("confusion", name);
  const stepped = useRecords("confusion", name, holders, isNear);
  const { value, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const head = value?.values().next().value?.entry.head;
  const isWide = head?.kind === "confusion" && head.labels.length >= WIDE_FROM;
  const columns = holders.length * (isWide ? 2 : 1);
  return (
    <Figure place={place} title={name} hint={`${name}, confusion`} span={columns}>
      {value === null ? (
        <Waiting
          problem={stepped.problem || problem}
          height={HEIGHT}
          retry={stepped.state === "failed" ? stepped.retry : retry}
        />
      ) : (
        <>
          <div class={isWide ? "sec-side wide" : "sec-side"}>
            {holders.map(({ run }) => {
              const record = value.get(run.id);
              if (record !== undefined)
                return (
                  <RunMatrix
                    key={run.id}
                    name={name}
                    run={run}
                    record={record}
                    isNamed={holders.length > 1}
                  />
                );
              const first = stepped.recordsOf(run.id)[0];
              return (
                <p key={run.id} class="muted fs-1">
                  {run.name}{" "}
                  {first === undefined ? "has none yet" : `begins at step ${formatCount(first.step)}`}
                </p>
              );
            })}
          </div>
          <StepSlider name={name} stepped={stepped} />
        </>
      )}
    </Figure>
  );
}
