/** Under the name of the unit that is pointed at: the exact values of its other variables. */
import * as store from "../../data/network/store";
import { hoveredReading } from "../../data/network/unit-readings";

/** More would hide what is pointed at. */
const MOST = 6;

export function NetTip() {
  const reading = hoveredReading.value;
  if (reading === null) return null;
  // The one that is drawn stands above them.
  const others = reading.values.filter(([name]) => name !== store.variable.value);
  return (
    <>
      {others.slice(0, MOST).map(([name, text]) => (
        <span key={name} class="tip-value">
          {name} {text}
        </span>
      ))}
    </>
  );
}
