/** The address says which lesson, which way and which step, so that a place can be sent to somebody. */
import { effect } from "@preact/signals";
import { param, route, setParams } from "../../data/route";
import { chooseExercise, exerciseId } from "./exercises/state";
import { closeLesson, openExample, runOwn } from "./lessons";
import * as store from "./store";

const NAMES = ["example", "source", "show", "exercise", "way", "step"] as const;
type Address = Readonly<Record<(typeof NAMES)[number], string | null>>;

/** What the address said last, or was told: what is the same is not read again. Null before it was read. */
let last: string | null = null;

/** The student's expression as it stands in the address: packing takes a moment. */
let packed: { readonly text: string; readonly signs: string | null } = { text: "", signs: null };

/** Follow the address, and write it, until the function that is returned is called. */
export function followLearnAddress(): () => void {
  last = null;
  const stops = [effect(readAddress), effect(writeAddress)];
  return () => stops.forEach((stop) => stop());
}

function readAddress(): void {
  const isHere = route.value.view === "learn" && store.catalogue.value !== null;
  const now = NAMES.map(param).join("\n");
  if (!isHere || now === last) return;
  last = now;
  if (param("exercise") !== "") chooseExercise(param("exercise"));
  store.pageMode.value = param("show") === "exercises" || param("exercise") !== "" ? "exercises" : "expressions";
  void openNamed(placeNamed());
}

async function openNamed(place: store.Place): Promise<void> {
  const [id, signs] = [param("example"), param("source")];
  if (isShown(id, signs)) {
    store.setDirection(place.direction ?? store.direction.peek());
    store.setStep(place.step ?? store.step.peek());
    return;
  }
  let text: string | null = null;
  if (signs !== "") {
    // Until it is unpacked, nothing is written in the place of what the address says.
    store.opening.value = { state: "loading", title: "your expression" };
    text = await unpack(signs);
  }
  store.exampleId.value = id;
  const example = store.catalogue.peek()?.examples.find((one) => one.id === id);
  if (text !== null) {
    packed = { text, signs };
    void runOwn(text, place);
  } else if (example !== undefined) openExample(example, place);
  else if (store.opening.peek().state !== "empty") closeLesson();
}

function isShown(id: string, signs: string): boolean {
  const own = store.isOwn.peek() ? (packed.signs ?? "") : "";
  return store.lesson.peek() !== null && id === store.exampleId.peek() && signs === own;
}

function placeNamed(): store.Place {
  const [way, number] = [param("way"), Number(param("step"))];
  return {
    ...(way === "forward" || way === "backward" ? { direction: way } : {}),
    ...(number >= 1 ? { step: number } : {}),
  };
}

function writeAddress(): void {
  const address = addressNow();
  const [text, isOwn] = [store.sourceText.value, store.isOwn.value];
  // What is on its way is not there yet: until then the address says where it leads.
  if (last === null || store.opening.value.state === "loading" || store.catalogue.value === null) return;
  if (isOwn && packed.text !== text) {
    packed = { text, signs: null };
    void pack(text).then((signs) => {
      if (packed.text !== text) return;
      packed = { text, signs };
      write(addressNow());
    });
    return;
  }
  write(address);
}

function addressNow(): Address {
  const isExercise = store.pageMode.value === "exercises";
  const hasStep = store.lesson.value !== null && !isExercise;
  return {
    example: store.exampleId.value || null,
    source: store.isOwn.value ? packed.signs : null,
    show: isExercise ? "exercises" : null,
    exercise: isExercise ? exerciseId.value || null : null,
    way: hasStep ? store.direction.value : null,
    step: hasStep ? String(store.step.value) : null,
  };
}

function write(address: Address): void {
  if (route.peek().view !== "learn") return;
  // First, so that it is not read again.
  last = NAMES.map((name) => address[name] ?? "").join("\n");
  setParams(address);
}

/** Longer addresses are cut off by what they are sent with. */
const MAX_SIGNS = 1800;

export async function pack(text: string): Promise<string | null> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const packed = btoa(String.fromCharCode(...bytes.slice(0, MAX_SIGNS)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
  return packed.length > MAX_SIGNS || bytes.length > MAX_SIGNS ? null : packed;
}

export async function unpack(packed: string): Promise<string | null> {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (sign) => sign.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    return null;
  }
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const body = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(body).arrayBuffer());
}
