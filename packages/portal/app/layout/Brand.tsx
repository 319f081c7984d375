import { settings } from "../session/settings.ts"

/** The name and the logo of the host. */
export const Brand = () =>
  settings.name === undefined && settings.logo === undefined ? null : (
    <p class="brand">
      {settings.logo !== undefined && <img class="logo" src={settings.logo} alt="" />}
      {settings.name}
    </p>
  )
