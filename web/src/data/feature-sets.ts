/** Which sets of features there are. A page that has no server has none. */
import { signal } from "@preact/signals";
import type { FeatureSetListing } from "../wire";

/** By name. Null until the server has said so. */
export const sets = signal<readonly FeatureSetListing[] | null>([]);
