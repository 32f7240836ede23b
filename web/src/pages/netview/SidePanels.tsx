/** The colours of the variable with their limits, which can be fixed, and how small values are drawn. */
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { groupBy } from "../../data/collections";
import { formatCount, formatShape, formatValue } from "../../data/format";
import { markOf, phase } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { choose, look, MAPS, range, setCentred, setLimit, shownVariable } from "../../data/network/value-ranges";
import { themeTick } from "../../data/store";
import { formatTicks } from "../../plot/ticks";
import { cssRamp } from "../../stage3d/network/colours";
import { Hint, Skeletons } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { FilterField } from "../../ui/FilterField";
import { IconButton } from "../../ui/IconButton";
import { Select } from "../../ui/Select";
import { useKey } from "../../ui/TimeBar";
import { panels, setPanel } from "../../ui/panels";
import { useRowsInView } from "../../ui/scroll";
import type { NetLayer, NetVariable } from "../../wire";

export function ColourPanel() {
  const { min, max, map, isAuto, isCentred } = look.value;
  const variable = shownVariable.value;
  return (
    <section class="net-colour" aria-label="Colour">
      <div class="panel-head">
        <h2>Colour</h2>
        <span class="grow" />
        <span class="muted fs-1">{variable}</span>
      </div>
      <div class="net-scale pad">
        <Legend />
        <div class="ctl">
          <LimitField key={`max ${variable}`} which="max" title="Max" variable={variable} />
          <LimitField key={`min ${variable}`} which="min" title="Min" variable={variable} />
          <Check
            hint="From the lowest to the highest value that was ever recorded"
            isOn={isAuto}
            isOff={range.value === null && isAuto}
            set={(isOn) => choose(variable, { fixed: isOn ? null : { min, max } })}
          >
            Auto range
          </Check>
          <Check isOn={isCentred} set={(isOn) => setCentred(variable, isOn)}>
            Centre on zero
          </Check>
          <Select label="Colour map" value={map} options={MAPS} set={(name) => choose(variable, { map: name as store.MapName })} />
        </div>
      </div>
      <label class="net-fading pad" title="The smaller a value, the more transparent">
        <span>Fade small values</span>
        <input
          class="grow"
          type="range"
          aria-label="Fade small values"
          min={0}
          max={1}
          step={0.05}
          value={store.fading.value}
          onInput={(event) => (store.fading.value = Number(event.currentTarget.value))}
        />
      </label>
    </section>
  );
}

const NUM_WORDS = 5;

/** The limits, and what lies between them, beside the colours. */
function Legend() {
  const { min, max, map } = look.value;
  const values = Array.from({ length: NUM_WORDS }, (_, at) => max + ((min - max) * at) / (NUM_WORDS - 1));
  return (
    <div class="legend-tall" role="img" aria-label={`Colours from ${formatValue(min)} to ${formatValue(max)}`}>
      {/* The colours are those of the theme: with another one they are read anew. */}
      <span key={themeTick.value} class="ramp-tall" style={{ background: `linear-gradient(to top, ${cssRamp(map)})` }} />
      <div class="ends" aria-hidden="true">
        {legendTexts(values).map((text, at) => (
          <span key={at}>{text}</span>
        ))}
      </div>
    </div>
  );
}

const DIGITS = 3;

/** With three digits of the largest, all alike: 1.00, 0.50, 0. */
export function legendTexts(values: readonly number[]): string[] {
  const power = Math.floor(Math.log10(Math.max(...values.map(Math.abs)) || 1));
  if (power < -4 || power > 6) return formatTicks(values.map((value) => Number(value.toPrecision(DIGITS))));
  const decimals = Math.max(0, DIGITS - 1 - power);
  return values.map((value) => (value === 0 ? "0" : value.toFixed(decimals).replace("-", "\u2212")));
}

function LimitField({ which, title, variable }: { which: "min" | "max"; title: string; variable: string }) {
  const [error, setError] = useState("");
  // What is being typed stays while the limits move with the values.
  const [draft, setDraft] = useState<string | null>(null);
  const value = look.value[which];
  return (
    <div class="field">
      <label for={`net-${which}`}>{title}</label>
      <input
        id={`net-${which}`}
        class={error === "" ? "input" : "input bad"}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        aria-invalid={error !== ""}
        value={draft ?? plainText(value)}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={(event) => {
          const text = event.currentTarget.value.replaceAll("\u2212", "-").replaceAll(/[\s\u202f]/g, "");
          setError(text === "" ? "A limit is a number." : setLimit(variable, which, Number(text)));
          // What is not taken does not stay: the limit is what the colours show.
          setDraft(null);
        }}
      />
      <Hint text={error} />
    </div>
  );
}

/** As it can be typed: with a true minus, without groups. */
function plainText(value: number): string {
  return String(Number(value.toPrecision(4))).replaceAll("-", "\u2212");
}

/** Letters that fit into the fourth part of a panel. */
const MAX_NARROW = 7;

/** The variables as buttons, in groups, each with a sentence on what it is. */
export function VariablePanel() {
  const all = store.variables.value;
  const box = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined || all.length === 0 || event.shiftKey) return;
    event.preventDefault();
    const at = all.findIndex(({ name }) => name === store.variable.peek());
    const next = (at + by + all.length) % all.length;
    store.variable.value = all[next]!.name;
    box.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <>
      <div class="panel-head">
        <h2>Variable</h2>
        <span class="grow" />
        <kbd aria-hidden="true">v</kbd>
      </div>
      <div ref={box} role="radiogroup" aria-label="Variable" onKeyDown={onKeyDown}>
        {all.length === 0 && (phase.value === "waiting" ? <Skeleton /> : <p class="pad muted fs-2">None recorded</p>)}
        {[...groupBy(all, ({ group }) => group)].map(([group, variables]) => (
          <div class="vgroup" key={group} role="group" aria-label={group}>
            <h3>{group}</h3>
            <div class="vars">
              {variables.map((variable) => (
                <VariableButton key={variable.name} variable={variable} />
              ))}
            </div>
          </div>
        ))}
      </div>
    </>
  );
}

/** To the variable that is shown, also while the panel is folded away: then once it is there. */
export function useVariableKey(): void {
  useKey("v", () => {
    const focus = (): void => document.querySelector<HTMLElement>(".vars [aria-checked=true]")?.focus();
    if (panels.peek().left) {
      focus();
      return;
    }
    setPanel("left", true);
    setTimeout(focus);
  });
}

function VariableButton({ variable: { name, about } }: { variable: NetVariable }) {
  // Where it is, while it is told what it stands for.
  const [place, setPlace] = useState<DOMRect | null>(null);
  const isOn = store.variable.value === name;
  const tell = (button: Element): void => setPlace(button.getBoundingClientRect());
  return (
    <>
      <button
        class={name.length > MAX_NARROW ? "btn wide clip" : "btn clip"}
        role="radio"
        aria-checked={isOn}
        aria-description={about}
        tabIndex={isOn ? 0 : -1}
        onClick={() => (store.variable.value = name)}
        onMouseEnter={(event) => tell(event.currentTarget)}
        onMouseLeave={() => setPlace(null)}
        onFocus={(event) => {
          if (event.currentTarget.matches(":focus-visible")) tell(event.currentTarget);
        }}
        onBlur={() => setPlace(null)}
      >
        {name}
      </button>
      {place !== null && about !== "" && (
        <div class="net-tip fixed" role="tooltip" style={{ left: `${place.left}px`, top: `${place.bottom + 6}px` }}>
          <b>{name}</b> <span>{about}</span>
        </div>
      )}
    </>
  );
}

function Skeleton() {
  return (
    <div class="vgroup late" aria-hidden="true">
      <i class="skeleton" style={{ width: "64px", margin: "4px 0 10px" }} />
      <div class="vars">
        {[0, 1, 2, 3].map((at) => (
          <i key={at} class="skeleton" style={{ height: "24px" }} />
        ))}
      </div>
    </div>
  );
}

const ROW_HEIGHT = 28;

const filter = signal("");

/** The layers from output to input: shown or hidden, alone, and what is to be known of their values. */
export function LayersPanel() {
  const all = (store.scene.value?.layers ?? []).toReversed();
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter(({ name, module }) => words.every((word) => `${name} ${module}`.toLowerCase().includes(word)));
  const box = useRef<HTMLDivElement>(null);
  const { first, end } = useRowsInView(box, shown.length, ROW_HEIGHT);
  const numHidden = all.length - store.shownLayers.value.length;
  return (
    <>
      <div class="panel-head rule-t">
        <h2>Layers</h2>
        <span class="muted fs-1 clip">{numHidden > 0 && `${formatCount(numHidden)} hidden`}</span>
        <span class="grow" />
        <button class="btn quiet sm" disabled={numHidden === 0} onClick={showAll}>
          Show all
        </button>
      </div>
      {all.length > 0 && (
        <div class="pad-s">
          <FilterField
            label="Filter layers"
            placeholder="Filter layers"
            value={filter.value}
            onChange={(text) => (filter.value = text)}
            onLeave={() => box.current?.querySelector("button")?.focus()}
          />
        </div>
      )}
      <div class="panel-body net-layers" ref={box}>
        {all.length === 0 && (phase.value === "waiting" ? <Skeletons widths={[140, 96, 120, 104]} /> : <p class="pad muted fs-2">None recorded</p>)}
        <ul
          aria-label="Layers, from output to input"
          style={{ height: `${shown.length * ROW_HEIGHT}px`, paddingTop: `${first * ROW_HEIGHT}px` }}
        >
          {shown.slice(first, end).map((layer) => (
            <LayerRow key={layer.name} layer={layer} />
          ))}
        </ul>
        {all.length > 0 && shown.length === 0 && <p class="pad-s muted fs-2">No layer has “{filter.value}” in its name.</p>}
      </div>
    </>
  );
}

function LayerRow({ layer }: { layer: NetLayer }) {
  const { name, shape, module } = layer;
  const isAlone = store.isolated.value === name;
  const isHidden = store.isolated.value === null ? store.hidden.value.has(name) : !isAlone;
  const about = [name, module, layer.note].filter((part) => part !== "").join(" · ");
  return (
    <li class={isHidden ? "hid" : undefined}>
      <IconButton
        icon={isHidden ? "eyeOff" : "eye"}
        label={`${isHidden ? "Show" : "Hide"} ${name}`}
        look="btn quiet square"
        onClick={() => setHidden(name, !isHidden)}
      />
      <span class="grow clip layer-name" title={about}>
        <bdi>{name}</bdi>
      </span>
      <LayerMark layer={name} />
      <span class="muted shape">{formatShape(shape)}</span>
      <IconButton
        icon="only"
        label={`Isolate ${name}`}
        look="btn quiet square"
        aria-pressed={isAlone}
        onClick={() => (store.isolated.value = isAlone ? null : name)}
      />
    </li>
  );
}

/** A word besides the hatch, so that it never hangs on a colour. */
function LayerMark({ layer }: { layer: string }) {
  const mark = markOf(layer);
  if (mark === null) return null;
  const text = mark.kind === "missing" ? "none" : `step ${formatCount(mark.step)}`;
  const about = mark.kind === "missing" ? mark.why : `Not recorded at this moment: the values are those of ${text}.`;
  return (
    <span class={`layer-mark ${mark.kind}`} title={about}>
      {text}
    </span>
  );
}

/** From one layer alone, showing another one leads back to all that were shown, and to it. */
function setHidden(name: string, isHidden: boolean): void {
  store.isolated.value = null;
  const others = [...store.hidden.peek()].filter((one) => one !== name);
  store.hidden.value = new Set(isHidden ? [...others, name] : others);
}

function showAll(): void {
  store.isolated.value = null;
  store.hidden.value = new Set();
}
