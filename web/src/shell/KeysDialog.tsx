/** All keys, in a window of their own. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";
import { hasPlaces, keysShown } from "./keys";
import { keyTable } from "./keytable";

export function KeysDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = keysShown.value;
  useLayoutEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={() => (keysShown.value = false)}>
      <div class="panel-head">
        <h2 id="keys-title">Keys</h2>
        <span class="grow" />
        <button class="btn quiet square" aria-label="Close" onClick={() => (keysShown.value = false)}>
          <Icon name="close" />
        </button>
      </div>
      <div class="keys-body">
        {keyTable(hasPlaces()).map(({ title, rows }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl class="keys-list">
              {rows.map(({ keys, action }) => (
                <div key={action}>
                  <dt>
                    {keys.map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{action}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="muted fs-1">Single letters are off while a text field has focus.</p>
    </dialog>
  );
}
