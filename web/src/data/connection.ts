/** Is the server there, and when was it last heard? */
import { computed } from "@preact/signals";
import * as store from "./store";

/** Is the server there, so that what is said to be running is? */
export const isConnected = computed(() => store.source.value?.connection.value.state === "connected");

/** When the server was last heard, in seconds since 1970; null while it is there. */
export const lastHeard = computed<number | null>(() => {
  const connection = store.source.value?.connection.value;
  return connection?.state === "lost" ? connection.lastHeard / 1000 : null;
});
