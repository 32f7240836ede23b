/** A GIF: played where it moves, a picture where it does not. TensorBoard keeps videos so. */
import { useEffect, useState } from "preact/hooks";
import { Picture, type PictureProps } from "./Picture";
import { Player } from "./Player";
import { reelOfGif, type Reel } from "./reel";

export function MovingPicture(props: PictureProps) {
  const { bytes } = props.record;
  const [reel, setReel] = useState<Reel | null>(null);
  useEffect(() => {
    let isWanted = true;
    void reelOfGif(bytes).then((found) => isWanted && setReel(found));
    return () => {
      isWanted = false;
    };
  }, [bytes]);
  return reel === null ? <Picture {...props} /> : <Player label={props.label} reel={reel} />;
}
