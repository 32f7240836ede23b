/** The button between light and dark. */
import { switchTheme, theme } from "../theme/theme";
import { Icon } from "./Icon";

export function ThemeSwitch() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <button class="btn quiet square" aria-label={`Switch to the ${other} theme`} onClick={switchTheme}>
      <Icon name="theme" />
    </button>
  );
}
