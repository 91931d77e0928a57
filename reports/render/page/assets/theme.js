// Colours: those of the system, light, or dark. The choice is remembered if the browser allows it.

const THEMES = ["system", "light", "dark"];

function storedTheme() {
  try {
    const found = localStorage.getItem("perfbench-theme");
    return THEMES.includes(found) ? found : "system";
  } catch {
    return "system";
  }
}

function showTheme(button, theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = "Colours: " + theme;
  button.setAttribute("aria-label", theme === "system" ? "Colours: as the system has them" : "Colours: " + theme);
}

function startTheme(button) {
  let theme = storedTheme();
  showTheme(button, theme);
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    showTheme(button, theme);
    try {
      localStorage.setItem("perfbench-theme", theme);
    } catch {
      // A page from disk may not be allowed to remember: the choice is lost when it is closed.
    }
  });
}
