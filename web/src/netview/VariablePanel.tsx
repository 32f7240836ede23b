/** The variables as buttons, in groups, each with a sentence on what it is. */
import { useEffect, useRef, useState } from "preact/hooks";
import { setPanel } from "../shell/panels";
import { useKey } from "../tensors/useKey";
import type { NetVariable } from "../wire";
import { grouped } from "./grouping";
import { phase } from "./netstate";
import * as store from "./store";

const TIP_DELAY_MS = 400;
/** Letters that fit into the fourth part of a panel. */
const MAX_NARROW = 7;

interface Tip {
  readonly variable: NetVariable;
  readonly left: number;
  readonly top: number;
}

export function VariablePanel() {
  const all = store.variables.value;
  const box = useRef<HTMLDivElement>(null);
  const [tip, showTip] = useTip();
  useKey("v", () => focusChosen(box.current));
  // Asked for by the key while the panel was folded away.
  useEffect(() => {
    if (isWanted) focusChosen(box.current);
    isWanted = false;
  }, []);
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
        {[...grouped(all, ({ group }) => group)].map(([group, variables]) => (
          <div class="vgroup" key={group} role="group" aria-label={group}>
            <h3>{group}</h3>
            <div class="vars">
              {variables.map((variable) => (
                <VariableButton key={variable.name} variable={variable} showTip={showTip} />
              ))}
            </div>
          </div>
        ))}
      </div>
      {tip !== null && (
        <div class="net-tip fixed" role="tooltip" style={{ left: `${tip.left}px`, top: `${tip.top}px` }}>
          <b>{tip.variable.name}</b> <span>{tip.variable.about}</span>
        </div>
      )}
    </>
  );
}

let isWanted = false;

/** While the panel is folded away: the key opens it, and the variables take the focus when they are there. */
export function VariablesAway() {
  useKey("v", () => {
    isWanted = true;
    setPanel("left", true);
  });
  return null;
}

function focusChosen(box: HTMLElement | null): void {
  box?.querySelector<HTMLElement>("[aria-checked=true]")?.focus();
}

interface ButtonProps {
  variable: NetVariable;
  showTip: (variable: NetVariable | null, button?: HTMLElement) => void;
}

function VariableButton({ variable, showTip }: ButtonProps) {
  const { name, about } = variable;
  const isOn = store.variable.value === name;
  return (
    <button
      class={name.length > MAX_NARROW ? "btn wide clip" : "btn clip"}
      role="radio"
      aria-checked={isOn}
      aria-description={about}
      tabIndex={isOn ? 0 : -1}
      onClick={() => (store.variable.value = name)}
      onMouseEnter={(event) => showTip(variable, event.currentTarget)}
      onMouseLeave={() => showTip(null)}
      onFocus={(event) => {
        if (event.currentTarget.matches(":focus-visible")) showTip(variable, event.currentTarget);
      }}
      onBlur={() => showTip(null)}
    >
      {name}
    </button>
  );
}

function useTip(): [Tip | null, ButtonProps["showTip"]] {
  const [tip, setTip] = useState<Tip | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const drop = (): void => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
  };
  useEffect(() => drop, []);
  const show: ButtonProps["showTip"] = (variable, button) => {
    drop();
    setTip(null);
    if (variable === null || button === undefined || variable.about === "") return;
    timer.current = setTimeout(() => {
      const { left, bottom } = button.getBoundingClientRect();
      setTip({ variable, left, top: bottom + 6 });
    }, TIP_DELAY_MS);
  };
  return [tip, show];
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
