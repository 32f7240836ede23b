/** At which step of the way from input to output each layer is. */
import type { Connection, NetLayer } from "../wire";
import { grouped } from "./grouping";

/**
 * One more than the last of those from which a layer receives. Layers stand in the order in which they were
 * computed; what goes back against it, in a recurrent network, does not count. A layer of which nothing is known
 * comes after the one before it.
 */
export function stepsOf(layers: readonly NetLayer[], connections: readonly Connection[]): ReadonlyMap<string, number> {
  const order = new Map(layers.map((layer, at) => [layer.name, at]));
  const forward = connections.filter(({ source, target }) => {
    const [from, to] = [order.get(source), order.get(target)];
    return from !== undefined && to !== undefined && from < to;
  });
  const received = grouped(forward, (connection) => connection.target);
  const sent = grouped(forward, (connection) => connection.source);
  const steps = new Map<string, number>();
  let before = -1;
  for (const { name, is_input: isInput } of layers) {
    const from = received.get(name)?.map(({ source }) => steps.get(source) ?? 0);
    const isStart = from === undefined && (isInput || sent.has(name));
    const step = from !== undefined ? Math.max(...from) + 1 : isStart ? 0 : before + 1;
    steps.set(name, step);
    if (!isStart || isInput) before = step;
  }
  pullDown(layers, received, sent, steps);
  return steps;
}

/** What receives from nobody and is no input, as an embedding of positions, stands just before what it goes into. */
function pullDown(
  layers: readonly NetLayer[],
  received: ReadonlyMap<string, readonly Connection[]>,
  sent: ReadonlyMap<string, readonly Connection[]>,
  steps: Map<string, number>,
): void {
  for (const { name, is_input: isInput } of layers) {
    const targets = sent.get(name);
    if (isInput || received.has(name) || targets === undefined) continue;
    const least = Math.min(...targets.map(({ target }) => steps.get(target) ?? 0));
    steps.set(name, Math.max(0, least - 1));
  }
}
