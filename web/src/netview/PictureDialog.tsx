/** A picture of the drawing on the page itself, where no file can be saved. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../shell/Icon";
import { shownPicture } from "./recording";

export function PictureDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const address = shownPicture.value;
  useLayoutEffect(() => {
    if (address !== "") dialog.current?.showModal();
  }, [address]);
  if (address === "") return null;
  const close = (): void => {
    shownPicture.value = "";
  };
  return (
    <dialog ref={dialog} class="net-picture" aria-labelledby="net-picture-title" onClose={close}>
      <div class="panel-head">
        <h2 id="net-picture-title">Picture of the network</h2>
        <span class="grow" />
        <button class="btn quiet square" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <p class="muted fs-2">Files cannot be saved from here. The menu of the picture (right click) copies or saves it.</p>
      <img src={address} alt="The network as it is drawn" />
    </dialog>
  );
}
