/** Output, input, weight, gradient: which tensor of an op is looked at. */
import { useState } from "preact/hooks";
import { formatShape } from "../format";
import type { PassDocument } from "../wire";
import { tabChosen } from "./selection";
import { tabsOf, type Tab } from "./subjects";
import { TensorPanel } from "./TensorPanel";

interface Props {
  document: PassDocument;
  index: number;
}

export function TensorTabs({ document, index }: Props) {
  const tabs = tabsOf(document, index);
  const tab = tabs.find(({ name }) => name === tabChosen.value) ?? tabs[0];
  const [chosen, setChosen] = useState<Record<string, number>>({});
  if (tab === undefined) return null;
  const at = Math.min(chosen[tab.name] ?? 0, tab.subjects.length - 1);
  const subject = tab.subjects[at]!;
  return (
    <>
      {tabs.length > 1 && <TabList tabs={tabs} current={tab} />}
      <div id="tensor-panel" role="tabpanel" aria-label={tab.name}>
        {tab.subjects.length > 1 && (
          <div class="pad-s">
            <select
              class="input wide"
              aria-label={`${tab.name} to show`}
              value={String(at)}
              onChange={(event) => setChosen({ ...chosen, [tab.name]: Number(event.currentTarget.value) })}
            >
              {tab.subjects.map(({ name, shape }, nth) => (
                <option key={nth} value={String(nth)}>
                  {name} · {formatShape(shape)}
                </option>
              ))}
            </select>
          </div>
        )}
        <TensorPanel key={`${subject.kind} ${subject.index}`} document={document} subject={subject} />
      </div>
    </>
  );
}

function TabList({ tabs, current }: { tabs: readonly Tab[]; current: Tab }) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined || !(event.currentTarget instanceof HTMLElement)) return;
    event.preventDefault();
    event.stopPropagation();
    const at = (tabs.indexOf(current) + by + tabs.length) % tabs.length;
    tabChosen.value = tabs[at]!.name;
    event.currentTarget.querySelectorAll("button")[at]?.focus();
  };
  return (
    <div class="pad-s tab-bar">
      <div class="seg wide" role="tablist" aria-label="Tensor" onKeyDown={onKeyDown}>
        {tabs.map(({ name }) => (
          <button
            key={name}
            role="tab"
            aria-selected={name === current.name}
            aria-controls="tensor-panel"
            tabIndex={name === current.name ? 0 : -1}
            onClick={() => (tabChosen.value = name)}
          >
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}
