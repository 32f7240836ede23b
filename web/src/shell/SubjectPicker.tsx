/** Which pass is shown; a list to choose from where there are several. */
import { useRef, useState } from "preact/hooks";
import { formatCount } from "../format";
import { runsById } from "../runs/store";
import { choosePass } from "../session";
import type { PassListing } from "../source/source";
import * as store from "../store";
import { Icon } from "./Icon";
import { PassList } from "./PassList";
import { useCloseOutside } from "./Popover";

export function SubjectPicker() {
  const passes = store.source.value?.passes.value ?? [];
  const current = passes.find((pass) => pass.id === store.passId.value);
  const name = current?.name ?? store.document.value?.model_name;
  if (name === undefined && passes.length === 0) return null;
  const detail = current === undefined ? "" : detailOf(current);
  if (passes.length < 2 && name !== undefined) {
    return (
      <span class="subject">
        <Said name={name} detail={detail} />
      </span>
    );
  }
  return <Picker passes={passes} name={name ?? "Choose a pass"} detail={detail} />;
}

/** `resnet18-cifar, step 1100`, or the file that it was saved to. */
function detailOf(pass: PassListing): string {
  if (pass.run_id === "") return pass.detail;
  const run = runsById.value.get(pass.run_id)?.name ?? "";
  const step = pass.step === null ? pass.detail : `step ${formatCount(pass.step)}`;
  return run === "" ? step : `${run}, ${step}`;
}

interface Props {
  passes: readonly PassListing[];
  name: string;
  detail: string;
}

function Picker({ passes, name, detail }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const choose = (pass: PassListing): void => {
    close();
    if (pass.id !== store.passId.value) choosePass(pass);
  };
  const flip = (): void => {
    if (!isOpen) store.source.value?.refreshPasses();
    setIsOpen(!isOpen);
  };
  return (
    <div class="picker" ref={box}>
      <button class="btn quiet subject" aria-haspopup="listbox" aria-expanded={isOpen} onClick={flip}>
        <Said name={name} detail={detail} />
        <Icon name="down" />
      </button>
      {isOpen && <PassList passes={passes} onChoose={choose} onClose={close} />}
    </div>
  );
}

function Said({ name, detail }: { name: string; detail: string }) {
  return (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted clip">{detail}</span>}
    </>
  );
}
