/** What stands in the place of a table that has no rows. */
import { Blank } from "../../shell/Blank";
import { RUNS, TEST_EPOCHS, TEST_ITEMS, TEST_TRIALS, TRAIN_EPOCHS } from "./tablelist";

const WHEN: Readonly<Record<string, string>> = {
  [TRAIN_EPOCHS]: "There is a row for each epoch, as soon as it is over.",
  [TEST_TRIALS]: "“Test all” tests every item, and so does the training, as often as its parameters say.",
  [TEST_ITEMS]: "There is a row for each item that “Test item” has tested.",
  [TEST_EPOCHS]: "There is a row for each test of all items.",
  [RUNS]: "There is a row for each run, as soon as it is over.",
};

export function NoRows({ name, isAnswered }: { name: string; isAnswered: boolean }) {
  if (!isAnswered) {
    return (
      <div class="panel-body skeletons late" aria-busy="true" aria-label={`Loading ${name}`}>
        {[0, 1, 2].map((at) => (
          <i key={at} class="skeleton" />
        ))}
      </div>
    );
  }
  return (
    <div class="panel-body">
      <Blank icon="details" title={`No ${name} yet`}>
        <span>{WHEN[name] ?? "Its rows show up here as they are logged."}</span>
      </Blank>
    </div>
  );
}
