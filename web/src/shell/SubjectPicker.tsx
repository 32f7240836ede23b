/** Which pass is shown; a list to choose from where there are several. */
import { formatCount } from "../format";
import { runsById } from "../runs/store";
import { choosePass } from "../session";
import type { PassListing } from "../source/source";
import * as store from "../store";
import { passOptions } from "./passoptions";
import { Picker } from "./Picker";

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
  return <PassPicker passes={passes} name={name ?? "Choose a pass"} detail={detail} />;
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

function PassPicker({ passes, name, detail }: Props) {
  return (
    <Picker
      label="Passes"
      options={() => passOptions(passes)}
      chosen={store.passId.value ?? ""}
      choose={(id) => choose(passes, id)}
      onOpen={() => store.source.value?.refreshPasses()}
    >
      <Said name={name} detail={detail} />
    </Picker>
  );
}

function choose(passes: readonly PassListing[], id: string): void {
  const pass = passes.find((one) => one.id === id);
  if (pass !== undefined && id !== store.passId.value) choosePass(pass);
}

function Said({ name, detail }: { name: string; detail: string }) {
  return (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted clip">{detail}</span>}
    </>
  );
}
