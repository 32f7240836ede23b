/** What many parts of the page have to press: choices, tabs, zoom, limits. */
import type { ComponentChildren, JSX, RefObject } from "preact";
import { formatValue } from "../data/format";
import { IconButton } from "./IconButton";
import { type MapName, STEPS } from "./colour-scale";
import { actOn } from "./keys";

interface Props<Word extends string> {
  label: string;
  /** Each with what is written on it and, where that is not enough, what it means. */
  words: readonly (readonly [word: Word, title: ComponentChildren, hint?: string])[];
  chosen: Word;
  choose: (word: Word) => void;
  isWide?: boolean;
}

/** A few choices of which one holds, on one line. */
export function Segments<Word extends string>({ isWide = false, ...props }: Props<Word>) {
  return <OneOf {...props} style={isWide ? "seg wide" : "seg"} />;
}

interface TabsProps<Word extends string> extends Omit<Props<Word>, "isWide"> {
  style: string;
  /** The id of what they switch. */
  panel?: string;
}

/** What is shown of several, of which each has a name at its top. */
export function Tabs<Word extends string>(props: TabsProps<Word>) {
  return <OneOf {...props} isTabs />;
}

function OneOf<Word extends string>({ label, words, chosen, choose, style, panel, isTabs = false }: TabsProps<Word> & { isTabs?: boolean }) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ...(isTabs ? {} : { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    if (isTabs) event.stopPropagation();
    const at = words.findIndex(([word]) => word === chosen);
    const next = words[(at + by + words.length) % words.length];
    if (next === undefined) return;
    choose(next[0]);
    const group = event.currentTarget as HTMLElement;
    group.querySelectorAll("button")[words.indexOf(next)]?.focus();
  };
  return (
    <div class={style} role={isTabs ? "tablist" : "radiogroup"} aria-label={label} onKeyDown={onKeyDown}>
      {words.map(([word, title, hint]) => (
        <button
          key={word}
          role={isTabs ? "tab" : "radio"}
          {...{ [isTabs ? "aria-selected" : "aria-checked"]: word === chosen }}
          aria-controls={panel}
          title={hint}
          tabIndex={word === chosen ? 0 : -1}
          onClick={() => choose(word)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

type TextFieldProps = JSX.IntrinsicElements["input"] & {
  look?: string;
  isBad: boolean;
  set: (text: string) => void;
  keys: Readonly<Record<string, (() => void) | undefined>>;
};

/** A line to type, which says when what is typed cannot be. */
export function TextField({ look = "input", isBad, set, keys, ...attributes }: TextFieldProps) {
  return (
    <input
      {...attributes}
      class={isBad ? `${look} bad` : look}
      aria-invalid={isBad}
      onInput={(event) => set(event.currentTarget.value)}
      onKeyDown={(event) => actOn(event, keys)}
    />
  );
}

/** All of a graph in view. */
export function FitButton({ fit }: { fit: () => void }) {
  return <IconButton icon="frame" look={SQUARE} label="Fit the graph" title="Fit the graph (0)" onClick={() => fit()} />;
}

const SQUARE = "btn quiet square";

export function ZoomButtons({ scale, zoomBy }: { scale: number; zoomBy: (factor: number) => void }) {
  return (
    <>
      <IconButton icon="minus" look={SQUARE} label="Zoom out" title="Zoom out (−)" onClick={() => zoomBy(0.8)} />
      <span class="zoom-percent" aria-label="Zoom">
        {Math.round(scale * 100)} %
      </span>
      <IconButton icon="plus" look={SQUARE} label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(1.25)} />
    </>
  );
}

interface LimitFieldProps {
  label: string;
  /** Null for automatic. */
  value: number | null;
  set: (typed: number | null) => void;
  box?: RefObject<HTMLInputElement | null>;
}

/** An end of a scale to type: nothing is automatic. */
export function LimitField({ label, value, set, box }: LimitFieldProps) {
  return (
    <input
      ref={box ?? null}
      class="input sm"
      type="text"
      inputMode="decimal"
      placeholder="auto"
      aria-label={label}
      title={label}
      value={value === null ? "" : String(value).replaceAll("-", "\u2212")}
      onChange={(event) => set(typed(event.currentTarget.value))}
    />
  );
}

/** Null for nothing, NaN for what is no number. */
function typed(text: string): number | null {
  return text.trim() === "" ? null : Number(text.replaceAll("\u2212", "-"));
}

/** The colours of a scale, from its low end to its high one. */
export function Ramp({ map }: { map: MapName }) {
  return (
    <div class="ramp" aria-hidden="true">
      {Array.from({ length: STEPS[map] }, (_, step) => (
        <i key={step} class={`${map === "div" ? "d" : "q"}${step}`} />
      ))}
    </div>
  );
}

interface ScaleLineProps {
  style: string;
  low: number;
  high: number;
  /** Its colours. */
  children: ComponentChildren;
}

export function ScaleLine({ style, low, high, children }: ScaleLineProps) {
  return (
    <span class={style} role="img" aria-label={`Colours from ${formatValue(low)} to ${formatValue(high)}`}>
      <span aria-hidden="true">{formatValue(low, 2)}</span>
      {children}
      <span aria-hidden="true">{formatValue(high, 2)}</span>
    </span>
  );
}
