/** Pictures of one series: a step slider, and the runs side by side. */
import { useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../format";
import type { ImageHead } from "../../wire";
import type { FullRecord } from "../asking";
import { Figure } from "../Figure";
import { RunTag } from "../RunTag";
import { fileName, save } from "../../files/saving";
import { holdersOf, type Holder } from "../series";
import { StepSlider, stepByKey } from "../StepSlider";
import { ToolButton } from "../ToolButton";
import { useFullRecords } from "../useFullRecords";
import { useNear } from "../../measuring/useNear";
import { useRecords } from "../useRecords";
import { Waiting } from "../Waiting";
import { wantedOf } from "../wanting";
import { mediaType, sniff } from "./decoding";
import { MovingPicture } from "./MovingPicture";
import { Picture } from "./Picture";
import { zoomed, type Zoom } from "./zoom";

const HEIGHT = 180;

export function ImageSeries({ name }: { name: string }) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const [zoom, setZoom] = useState<Zoom>("fit");
  const [factor, setFactor] = useState(1);
  const holders = holdersOf("image", name);
  const stepped = useRecords("image", name, holders, isNear);
  const { value, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const head = headOf(value);
  return (
    <Figure
      place={place}
      title={name}
      span={holders.length}
      remark={head !== null && `${head.width}×${head.height}`}
      tools={
        <div class="sec-tools" role="group" aria-label={`Zoom of ${name}`}>
          <ToolButton glyph="minus" name={`Zoom out of ${name}`} press={() => setZoom(zoomed(factor, -1))} />
          <ToolButton
            glyph="fit"
            name={`Fit ${name}`}
            isPressed={zoom === "fit"}
            press={() => setZoom("fit")}
          />
          <ToolButton glyph="plus" name={`Zoom into ${name}`} press={() => setZoom(zoomed(factor, 1))} />
        </div>
      }
      onKeyDown={(event) => stepByKey(event, stepped)}
    >
      {value === null ? (
        <Waiting
          problem={stepped.problem || problem}
          height={HEIGHT}
          retry={stepped.state === "failed" ? stepped.retry : retry}
        />
      ) : (
        <>
          <div class="sec-side">
            {holders.map((holder) => (
              <RunPicture
                key={holder.run.id}
                name={name}
                holder={holder}
                isNamed={holders.length > 1}
                record={value.get(holder.run.id) ?? null}
                firstStep={stepped.recordsOf(holder.run.id)[0]?.step ?? null}
                zoom={zoom}
                onFactor={setFactor}
              />
            ))}
          </div>
          <StepSlider name={name} stepped={stepped} />
        </>
      )}
    </Figure>
  );
}

function headOf(records: ReadonlyMap<string, FullRecord> | null): ImageHead | null {
  const head = records?.values().next().value?.entry.head;
  return head?.kind === "image" ? head : null;
}

interface RunPictureProps {
  name: string;
  holder: Holder;
  isNamed: boolean;
  record: FullRecord | null;
  firstStep: number | null;
  zoom: Zoom;
  onFactor: (factor: number) => void;
}

function RunPicture({ name, holder: { run }, isNamed, record, firstStep, zoom, onFactor }: RunPictureProps) {
  if (record === null) {
    return (
      <div class="sec-one">
        {isNamed && <RunTag run={run} />}
        <p class="muted fs-1">
          {firstStep === null ? "nothing yet" : `begins at step ${formatCount(firstStep)}`}
        </p>
      </div>
    );
  }
  const { head, step } = record.entry;
  const boxes =
    head.kind === "image" && head.boxes.length > 0
      ? `, ${formatNumberOf(head.boxes.length, "box", "boxes")}`
      : "";
  const Shown = sniff(record.bytes) === "gif" ? MovingPicture : Picture;
  return (
    <div class="sec-one">
      <div class="sec-one-head">
        {isNamed ? <RunTag run={run} /> : <span />}
        <span class="muted fs-1">step {formatCount(step)}</span>
        <ToolButton
          glyph="save"
          name={`Save ${name} of ${run.name}`}
          press={() =>
            save(
              fileName([run.name, name, step], sniff(record.bytes) || "bin"),
              record.bytes,
              mediaType(record.bytes),
            )
          }
        />
      </div>
      <Shown
        label={`${name} of ${run.name} at step ${formatCount(step)}${boxes}`}
        record={record}
        zoom={zoom}
        onFactor={onFactor}
      />
    </div>
  );
}
