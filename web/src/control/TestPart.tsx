/** Test one item, or all of them. */
import { formatCount } from "../format";
import { testAll, testItem } from "./acting";
import { ActButton } from "./ActButton";
import { reasonAgainst } from "./sending";
import { item, itemText } from "./stepping";
import { about } from "./store";
import { chooseTable } from "./tables/showing";
import { TEST_ITEMS } from "./tables/tablelist";

export function TestPart() {
  const last = (about.value?.num_test_items ?? 0) - 1;
  const isBad = last >= 0 && item.value === null;
  const against = reasonAgainst("test");
  const againstItem = against || (isBad ? `The items are numbered from 0 to ${formatCount(last)}.` : "");
  const test = (): void => {
    if (againstItem !== "" || item.value === null) return;
    testItem(item.value);
    chooseTable(TEST_ITEMS);
  };
  return (
    <div class="control-part">
      <div class="group">
        <ActButton icon="flask" against={againstItem} hint="Test one item, and show it in the network and under Test items" act={test}>
          Test item
        </ActButton>
        <input
          class={`input count-field${isBad ? " bad" : ""}`}
          inputMode="numeric"
          aria-label="Item to test"
          title={last >= 0 ? `From 0 to ${formatCount(last)}` : undefined}
          aria-invalid={isBad}
          value={itemText.value}
          onInput={(event) => (itemText.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
            if (event.key === "Enter") test();
            if (by === undefined || item.value === null) return;
            event.preventDefault();
            itemText.value = String(Math.max(0, Math.min(last, item.value + by)));
          }}
        />
      </div>
      <ActButton against={against} hint="Test every item of the test set" act={testAll}>
        Test all
      </ActButton>
    </div>
  );
}
