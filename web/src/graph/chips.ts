/** Draw the chips beside boxes, and those that stand for far sources and readers. */
import { shownChips, type PlacedChip } from "./layoutgraph";
import type { Painting, PaintState } from "./painting";
import { chipPlaces, type Rect, type Visible } from "./scene";

const ROUND = 9;

/** Chips of one picture: dashed for parameters, accented where selected. */
class Batch {
  readonly arms = new Path2D();
  readonly dashed = new Path2D();
  readonly solid = new Path2D();
  readonly selected = new Path2D();
  readonly words: { readonly text: string; readonly place: Rect }[] = [];

  add(path: Path2D, place: Rect, text: string): void {
    path.roundRect(place.x, place.y, place.width, place.height, ROUND);
    this.words.push({ text, place });
  }
}

/** Parameters, buffers and outside tensors at the left of their op, and what stands instead of long edges. */
export function paintChips({ context, state, fitter }: Painting, visible: Visible): void {
  const { palette } = state;
  const batch = new Batch();
  addChipsOfBoxes(batch, state, visible);
  addFarEnds(batch, state, visible);
  context.lineWidth = 1;
  context.strokeStyle = palette.line2;
  context.stroke(batch.arms);
  context.fillStyle = palette.background;
  for (const path of [batch.dashed, batch.solid, batch.selected]) context.fill(path);
  context.stroke(batch.solid);
  context.setLineDash([3, 2]);
  context.stroke(batch.dashed);
  context.setLineDash([]);
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.stroke(batch.selected);
  for (const { text, place } of batch.words) {
    const [x, y] = [place.x + place.width / 2, place.y + place.height / 2 + 0.5];
    fitter.draw(context, text, x, y, place.width - 10, palette.text3, "center");
  }
}

function addChipsOfBoxes(batch: Batch, state: PaintState, visible: Visible): void {
  for (const box of visible.boxes) {
    const node = state.hierarchy.nodes.get(box.key)!;
    if (node.chips.length === 0) continue;
    for (const { chip, ...place } of chipPlaces(box, shownChips(node, state.showBuffers))) {
      const middle = place.y + place.height / 2;
      batch.arms.moveTo(place.x + place.width, middle);
      batch.arms.lineTo(box.x, Math.max(box.y + 6, Math.min(box.y + box.height - 6, middle)));
      const isSelected = chip.key !== null && chip.key === state.highlight.selected;
      batch.add(isSelected ? batch.selected : chip.kind === "param" ? batch.dashed : batch.solid, place, chip.text);
    }
  }
}

function addFarEnds(batch: Batch, { highlight, hierarchy }: PaintState, visible: Visible): void {
  const nameOf = ({ keys }: PlacedChip): string =>
    keys.length > 1 ? `${keys.length} tensors` : (hierarchy.nodes.get(keys[0]!)?.label ?? "");
  for (const { chip, x, y } of visible.chips) {
    const isSelected = highlight.selected !== null && chip.keys.includes(highlight.selected);
    const place = { x: x + chip.x, y: y + chip.y, width: chip.width, height: chip.height };
    const arrow = chip.names === "sources" ? "↥" : "↧";
    batch.add(isSelected ? batch.selected : batch.solid, place, `${arrow} ${nameOf(chip)}`);
  }
}

/** Where they cannot be read, chips are no more than the ends of their lines. */
export function paintFarChips({ context, state }: Painting, visible: Visible): void {
  const path = new Path2D();
  for (const { chip, x, y } of visible.chips) path.rect(x + chip.x, y + chip.y, chip.width, chip.height);
  context.fillStyle = state.palette.line2;
  context.fill(path);
}
