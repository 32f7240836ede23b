/** The heads of the groups, which fold; the one of the rows at the upper edge stays in view. */
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { Ramp } from "./HeatKey";
import { pinnedTops, type GroupLine } from "./rows";
import * as state from "./state";

export function HeatGroups({ scrollTop, viewHeight }: { scrollTop: number; viewHeight: number }) {
  const lines = state.lines.value;
  const seen = pinnedTops(lines, scrollTop).filter(
    ({ line, top }) => top + line.height >= scrollTop && top <= scrollTop + viewHeight,
  );
  return (
    <div class="heat-groups">
      {seen.map(({ line, top }) => (
        <Head key={line.role} line={line} top={top} />
      ))}
    </div>
  );
}

function Head({ line, top }: { line: GroupLine; top: number }) {
  const { role, title, hint, isOpen, count, height } = line;
  const first = state.lines.value.rows.find(({ row }) => row.role === role);
  const scale = first === undefined ? undefined : state.scales.value.get(first.index);
  const hasOwn = state.sharing.value === "group" && state.wish.value.limits === null;
  return (
    <div class="heat-head" style={{ top: `${top}px`, height: `${height}px` }}>
      <button class="heat-group" aria-expanded={isOpen} onClick={() => state.setClosed(role, isOpen)}>
        <Icon name={isOpen ? "down" : "right"} />
        {title} <span class="muted">{hint === "" ? formatCount(count) : hint}</span>
      </button>
      {hasOwn && isOpen && scale !== undefined && <Ramp scale={scale} />}
    </div>
  );
}
