/** Whether a colour means the same at every step. */
import * as store from "./store";

export function ScaleChoice() {
  return (
    <div class="section scale-choice">
      <label class="check">
        <input
          type="checkbox"
          checked={store.isScaleShared.value}
          onChange={(event) => (store.isScaleShared.value = event.currentTarget.checked)}
        />
        Same colours at every step
      </label>
    </div>
  );
}
