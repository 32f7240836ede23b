/** In the top bar: a button that says what is shown and, under it, a list to choose another from. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";
import { OptionList, type Option } from "./OptionList";
import { useCloseOutside } from "./Popover";

interface Props {
  /** Of the list. */
  label: string;
  /** Asked for only while the list is open. */
  options: () => readonly Option[];
  /** Its id; empty for none. */
  chosen: string;
  /** Where the keys begin, if not at the one that is chosen. */
  from?: string;
  choose: (id: string) => void;
  onOpen?: () => void;
  /** What the button says. */
  children: ComponentChildren;
}

export function Picker({ label, options, chosen, from = chosen, choose, onOpen, children }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const flip = (): void => {
    if (!isOpen) onOpen?.();
    setIsOpen(!isOpen);
  };
  return (
    <div class="picker" ref={box}>
      <button class="btn quiet subject" aria-haspopup="listbox" aria-expanded={isOpen} onClick={flip}>
        {children}
        <Icon name="down" />
      </button>
      {isOpen && (
        <OptionList
          label={label}
          options={options()}
          chosen={chosen}
          from={from}
          onClose={close}
          onChoose={(id) => {
            close();
            choose(id);
          }}
        />
      )}
    </div>
  );
}
