// The menu of a box in a picture of calls: what can be done with its function, its file and its
// library. The picture says where it opens.

import { useState } from "preact/hooks";

import type { Picture } from "../canvas/picture";
import { usePlace } from "../place";
import { choicesOf } from "./box_menu";
import { Menu } from "./menu";

export interface PictureMenu {
  /** Opens the menu of a box at a point of the picture. What is no function has none. */
  open: (at: number, x: number, y: number) => void;
  /** The menu, if it is open: it belongs into the element around the picture. */
  shown: preact.JSX.Element | null;
}

/** The menu of a picture, whose keys are `canvas`'s again when it closes. */
export function usePictureMenu(picture: Picture, canvas: { current: HTMLElement | null }): PictureMenu {
  const place = usePlace();
  const [menu, setMenu] = useState<{ x: number; y: number; at: number } | undefined>(undefined);
  const close = () => {
    setMenu(undefined);
    canvas.current?.focus();
  };
  return {
    open: (at, x, y) => at >= 0 && picture.boxes.function[at] >= 0 && setMenu({ x, y, at }),
    shown: menu === undefined ? null : <Menu x={menu.x} y={menu.y} isFree choices={choicesOf(picture, menu.at, place.values.filter ?? "")} onClose={close} />,
  };
}
