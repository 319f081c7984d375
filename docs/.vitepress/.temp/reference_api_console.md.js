import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"@tollgate/console","description":"","frontmatter":{},"headers":[],"relativePath":"reference/api/console.md","filePath":"reference/api/console.md"}');
const _sfc_main = { name: "reference/api/console.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="tollgateconsole" tabindex="-1">@tollgate/console <a class="header-anchor" href="#tollgateconsole" aria-label="Permalink to &quot;@tollgate/console&quot;">​</a></h1><p>The console of Tollgate, as the option <code>console</code> of <code>createTollgate</code>.</p><h2 id="functions-and-values" tabindex="-1">Functions and values <a class="header-anchor" href="#functions-and-values" aria-label="Permalink to &quot;Functions and values&quot;">​</a></h2><h3 id="adminconsole" tabindex="-1">adminConsole <a class="header-anchor" href="#adminconsole" aria-label="Permalink to &quot;adminConsole&quot;">​</a></h3><p>The files of the console, which are part of this package.</p><div class="language-typescript vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">typescript</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">function</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> adminConsole</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">()</span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">:</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> Console</span></span></code></pre></div><p>Example:</p><div class="language-typescript vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">typescript</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;">const</span><span style="--shiki-light:#005CC5;--shiki-dark:#79B8FF;"> gate</span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;"> =</span><span style="--shiki-light:#D73A49;--shiki-dark:#F97583;"> await</span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;"> createTollgate</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">({ store, secret, tokens: [{ token, account: </span><span style="--shiki-light:#032F62;--shiki-dark:#9ECBFF;">&quot;*&quot;</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;"> }], console: </span><span style="--shiki-light:#6F42C1;--shiki-dark:#B392F0;">adminConsole</span><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">() })</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("reference/api/console.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const console = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  console as default
};
