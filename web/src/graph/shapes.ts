/** Boxes and batches: many shapes of one look in a single path. */
import type { Rect } from "./scene";

/** Add a box to a path; sharp corners are much faster than round ones. */
export function addBox(path: Path2D, box: Rect, radius: number): void {
  if (radius > 0) path.roundRect(box.x, box.y, box.width, box.height, radius);
  else path.rect(box.x, box.y, box.width, box.height);
}

/** A path for each name, made when it is first asked for. */
export class Paths {
  private readonly paths = new Map<string, Path2D>();

  get(name: string): Path2D {
    let path = this.paths.get(name);
    if (path === undefined) {
      path = new Path2D();
      this.paths.set(name, path);
    }
    return path;
  }

  entries(): IterableIterator<[string, Path2D]> {
    return this.paths.entries();
  }
}

