/** Mean with its deviation, extremes, zeros and what is no number, over all steps; a click goes to a step. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatShare, formatValue } from "../format";
import { Section } from "../inspector/Section";
import type { RecordListing } from "../wire";
import { figureOf, withSign, type Figure } from "./overtime";
import { OverTimeChart } from "./OverTimeChart";

interface Props {
  records: readonly RecordListing[];
  at: number;
  other: number | null;
  onGo: (at: number) => void;
}

export function OverTime({ records, at, other, onGo }: Props) {
  const [isTable, setIsTable] = useState(false);
  const [hover, setHover] = useState<number | null>(null);
  const figures = useMemo(() => records.map(figureOf).filter((one) => one !== null), [records]);
  const shown = figures[hover ?? at];
  const remark = (
    <>
      {shown !== undefined && describe(shown)}{" "}
      <button class="link quiet" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
        {isTable ? "show as chart" : "show as table"}
      </button>
    </>
  );
  return (
    <Section title="Over time" remark={remark}>
      {isTable ? (
        <FigureTable figures={figures} at={at} onGo={onGo} />
      ) : (
        <OverTimeChart figures={figures} at={at} other={other} hover={hover} onHover={setHover} onGo={onGo} />
      )}
    </Section>
  );
}

function describe(figure: Figure): string {
  const { step, mean, std } = figure;
  const value = mean === null ? "no finite values" : `mean ${withSign(figure, "mean", formatValue(mean, 3))}`;
  return `step ${formatCount(step)}: ${value}${std === null ? "" : ` ± ${formatValue(std, 3)}`} ·`;
}

function FigureTable({
  figures,
  at,
  onGo,
}: {
  figures: readonly Figure[];
  at: number;
  onGo: (at: number) => void;
}) {
  const value = (figure: Figure, name: "mean" | "std" | "min" | "max"): string => {
    const one = figure[name];
    return one === null ? "none" : withSign(figure, name, formatValue(one));
  };
  return (
    <div class="bins">
      <table class="table figure-table" aria-label="Figures over time">
        <thead>
          <tr>
            {["step", "mean", "std", "min", "max", "zeros", "NaN / Inf"].map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {figures.map((figure, nth) => (
            <tr key={nth} aria-selected={nth === at}>
              <td>
                <button class="link" onClick={() => onGo(nth)}>
                  {formatCount(figure.step)}
                </button>
              </td>
              <td>{value(figure, "mean")}</td>
              <td>{value(figure, "std")}</td>
              <td>{value(figure, "min")}</td>
              <td>{value(figure, "max")}</td>
              <td>{figure.zeros === null ? "unknown" : formatShare(figure.zeros, 1)}</td>
              <td class={figure.numNan + figure.numInf > 0 ? "bad" : ""}>
                {formatCount(figure.numNan)} / {formatCount(figure.numInf)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
