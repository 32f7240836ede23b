/** The data of all charts: each series in whole, and finer for those that somebody looks at closely. */
import { computed, effect } from "@preact/signals";
import * as runs from "../runs/store";
import * as store from "../store";
import { Feed } from "./feed";
import { options, type Options, type Span } from "./options";

export interface Feeds {
  /** Every chart: all of its lines from their beginning. */
  readonly whole: Feed;
  /** The chart that is enlarged: the same in finer grain. */
  readonly large: Feed;
  /** Charts that are zoomed: only the part that is seen. On a logarithmic axis the first part of it. */
  readonly part: Feed;
}

const WHOLE_BUCKETS = 512;
const FINE_BUCKETS = 1024;
const LARGE_BUCKETS = 2048;
/** As long as all, divided by this. */
const FIRST_PART = 64;

export const feeds = computed<Feeds | null>(() => {
  const source = store.source.value;
  if (source === null) return null;
  const everything = { axis: "step", low: null, high: null } as const;
  return {
    whole: new Feed(source, { ...everything, num_buckets: WHOLE_BUCKETS }),
    large: new Feed(source, { ...everything, num_buckets: LARGE_BUCKETS }),
    part: new Feed(source, { ...everything, num_buckets: FINE_BUCKETS }),
  };
});

const axis = computed(() => options.value.axis);

/** How long the longest of the chosen runs is, along the axis. */
const longest = computed(() => {
  const lengths = runs.chosen.value.map(({ last_step, started, updated }) =>
    axis.value === "step" ? (last_step ?? 0) : updated - started,
  );
  return Math.max(0, ...lengths);
});

/** The part that is looked at closely, as text so that it changes only when it does. */
const closely = computed(() => {
  const { zoom, isLogX } = options.value;
  return JSON.stringify(zoom ?? (isLogX ? firstPart(longest.value) : null));
});

/** On a logarithmic axis the beginning is as wide as all that follows. Grows in doubles, so that it seldom changes. */
export function firstPart(length: number): Span | null {
  return length > FIRST_PART ? { low: 0, high: 2 ** Math.floor(Math.log2(length / FIRST_PART)) } : null;
}

/** Is there a part of the axis that needs finer grain? */
export function hasPart({ zoom, isLogX }: Pick<Options, "zoom" | "isLogX">): boolean {
  return zoom !== null || isLogX;
}

/** Let the questions follow axis and zoom; call what it returns to stop. */
export function followOptions(): () => void {
  return effect(() => {
    const all = feeds.value;
    if (all === null) return;
    const everything = { axis: axis.value, low: null, high: null };
    all.whole.ask({ ...everything, num_buckets: WHOLE_BUCKETS });
    all.large.ask({ ...everything, num_buckets: LARGE_BUCKETS });
    const part = JSON.parse(closely.value) as Span | null;
    all.part.ask({
      axis: axis.value,
      low: part?.low ?? null,
      high: part?.high ?? null,
      num_buckets: FINE_BUCKETS,
    });
  });
}
