/** One point: all that is known of it, and the points nearest to it in the space that they were given in. */
import { Icon } from "../shell/Icon";
import { setParams } from "../route";
import { addToSelection, isolate, look } from "./choosing";
import { PointRow } from "./PointRow";
import { MetricField } from "./ProjectorOptions";
import { SpriteCrop } from "./SpriteCrop";
import * as store from "./store";

export function FocusSection() {
  const [here, point] = [store.loaded.value, store.focus.value];
  if (here === null) return null;
  if (point === null)
    return (
      <section class="section" aria-label="Point">
        <h2>Point</h2>
        <p class="muted fs-1">Click a point to see what is nearest to it. Shift and drag selects many.</p>
      </section>
    );
  return (
    <section class="section" aria-label="Point">
      <div class="row">
        <h2>Point {point}</h2>
        <span class="grow" />
        <button class="btn quiet sm square" aria-label="Leave this point" onClick={() => look(null)}>
          <Icon name="close" />
        </button>
      </div>
      <div class="row point-facts">
        <SpriteCrop point={point} />
        <dl class="readout facts grow">
          {here.embedding.columns.map(({ name, values }, at) => (
            <div key={at}>
              <dt class="clip">{name}</dt>
              <dd>{values[point]}</dd>
            </div>
          ))}
        </dl>
      </div>
      <Neighbours />
    </section>
  );
}

function Neighbours() {
  const list = store.neighbours.value;
  const farthest = list.at(-1)?.distance ?? 0;
  const points = list.map((one) => one.point);
  return (
    <>
      <h3 class="nearest-title">Nearest in all dimensions</h3>
      <MetricField />
      <div class="projector-field">
        <label for="num-neighbours">How many</label>
        <div class="row">
          <input
            id="num-neighbours"
            class="grow"
            type="range"
            min={1}
            max={100}
            value={store.numNeighbours.value}
            onInput={(event) => setParams({ k: event.currentTarget.value })}
          />
          <output class="num">{store.numNeighbours.value}</output>
        </div>
      </div>
      <ol class="point-list" aria-label="Nearest points">
        {list.map(({ point, distance }) => (
          <li key={point}>
            <PointRow
              point={point}
              distance={distance}
              share={farthest > 0 ? distance / farthest : 0}
              onChoose={look}
            />
          </li>
        ))}
      </ol>
      {list.length === 0 && <p class="muted fs-1">There is no other point.</p>}
      <div class="row actions">
        <button class="btn sm" onClick={() => addToSelection([store.focus.peek()!, ...points])}>
          Select these
        </button>
        <button class="btn sm" onClick={() => isolate([store.focus.peek()!, ...points])}>
          Isolate
        </button>
      </div>
    </>
  );
}
