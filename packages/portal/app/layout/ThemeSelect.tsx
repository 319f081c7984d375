import { Select } from "@tollgate/ui/components/fields.tsx"
import { type Theme, theme } from "@tollgate/ui/theme/theme.ts"
import { texts } from "../texts/texts.ts"

const themes: ReadonlyArray<{ readonly value: Theme; readonly label: string }> = [
  { value: "system", label: texts.themeSystem },
  { value: "light", label: texts.themeLight },
  { value: "dark", label: texts.themeDark }
]

export const ThemeSelect = () => (
  <Select
    label={texts.theme}
    value={theme.value}
    options={themes}
    onChange={(value) => {
      theme.value = value as Theme
    }}
  />
)
