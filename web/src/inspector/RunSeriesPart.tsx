/** Series of the run that are named after an op's module or parameters: numbers as charts, all else as links. */
import { formatCount, formatNumberOf } from "../format";
import { addressOf } from "../route";
import { LineChart } from "../runs/chart/LineChart";
import { pointsKey } from "../runs/chart/seriesblocks";
import { useSeries } from "../runs/chart/useSeries";
import { colourOf, type RunSeries } from "../runs/store";
import { useRunIndex } from "../runs/useRunIndex";
import type { PassDocument, SeriesListing } from "../wire";
import { addressesOf, seriesNamedAfter } from "./relatedseries";

const MAX_CHARTS = 8;
const MAX_LINKS = 12;
const HEIGHT = 72;

interface Props {
  runId: string;
  document: PassDocument;
  index: number;
}

export function RunSeriesPart({ runId, document, index }: Props) {
  const series = useRunIndex(runId);
  const addresses = addressesOf(document, index);
  const [address] = addresses;
  const found = seriesNamedAfter(series.values(), addresses);
  const scalars = found.filter(({ kind }) => kind === "scalar").slice(0, MAX_CHARTS);
  const others = found.filter(({ kind }) => kind === "tensor" || kind === "histogram");
  const { points } = useSeries(scalars.map(({ name }) => ({ run_id: runId, name })));
  return (
    <>
      {scalars.map(({ name, count }) => {
        const known = points.get(pointsKey(runId, name));
        const [x, y] = [known?.steps ?? [], known?.values ?? []];
        return (
          <figure key={name} class="small-chart">
            <figcaption class="muted fs-1 clip" title={name}>
              {name}
            </figcaption>
            <LineChart
              lines={[{ name, colour: colourOf(runId), x, y, end: "dot" }]}
              height={HEIGHT}
              summary={`${name}, ${formatNumberOf(count, "point")}`}
            />
          </figure>
        );
      })}
      {hasWatched(series) && address !== undefined && (
        <p class="fs-2">
          <a class="link" href={addressOf("layers", { runs: runId, run: runId, find: address })}>
            Watched rows of {address}
          </a>
        </p>
      )}
      {others.length > 0 && (
        <ul class="series-links">
          {others.slice(0, MAX_LINKS).map((one) => (
            <li key={`${one.kind} ${one.name}`}>
              <a class="link" href={linkTo(runId, one)}>
                {one.name}
              </a>
              <span class="muted">
                {one.kind}, {formatCount(one.count)} ×
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function hasWatched(series: RunSeries): boolean {
  return [...series.values()].some(({ kind }) => kind === "watch");
}

/** The page of tensors shows distributions, too. */
function linkTo(runId: string, { kind, name }: SeriesListing): string {
  return addressOf("tensors", { runs: runId, tensor: name, kind: kind === "histogram" ? kind : null });
}
