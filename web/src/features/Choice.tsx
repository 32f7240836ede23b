/** One of several numbers to choose: how many samples, how many folds. */
import { formatCount } from "../format";
import { setParams } from "../route";

interface Props {
  name: string;
  /** In the address. */
  param: string;
  value: number;
  usual: number;
  choices: readonly number[];
  /** Those above it are all there are. */
  all?: number;
}

export function Choice({ name, param, value, usual, choices, all = Infinity }: Props) {
  // One that is enough for all of them is the last that makes a difference.
  const enough = choices.findIndex((one) => one >= all);
  const shown = enough < 0 ? choices : choices.slice(0, enough + 1);
  const chosen = shown.includes(value) ? value : (shown.at(-1) ?? value);
  return (
    <label class="ft-choice">
      <span>{name}</span>
      <select
        class="input"
        value={String(chosen)}
        onChange={(event) => setParams({ [param]: Number(event.currentTarget.value) === usual ? null : event.currentTarget.value })}
      >
        {shown.map((one) => (
          <option key={one} value={String(one)}>
            {one >= all ? `all ${formatCount(all)}` : formatCount(one)}
          </option>
        ))}
      </select>
    </label>
  );
}
