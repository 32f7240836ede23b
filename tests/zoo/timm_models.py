"""timm: one small member of each family."""

from __future__ import annotations

from typing import Any

from tests.zoo.specimen import Example, Shelf, image, load

SHELF = Shelf()


# name, image size, what makes it small, facts
_ROWS: tuple[tuple[str, int, dict[str, Any], dict[str, Any]], ...] = (
    ("deit_tiny_distilled_patch16_224", 32, {"img_size": 32, "depth": 2}, {}),
    ("beit_base_patch16_224", 32, {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 4}, {}),
    ("cait_xxs24_224", 32, {"img_size": 32, "depth": 2}, {}),
    ("xcit_nano_12_p16_224", 32, {"img_size": 32, "depth": 2}, {}),
    # The blocks of a stage share their position encoding, so its weights meet their own result again.
    ("coat_lite_tiny", 64, {"img_size": 64}, {"loops": 2}),
    ("coat_tiny", 64, {"img_size": 64}, {"loops": 8}),
    ("levit_128s", 224, {}, {}),
    ("mixer_s32_224", 64, {"img_size": 64}, {}),
    ("gmlp_ti16_224", 64, {"img_size": 64}, {}),
    ("resmlp_12_224", 64, {"img_size": 64}, {}),
    ("poolformer_s12", 64, {}, {}),
    ("caformer_s18", 64, {}, {}),
    ("efficientformer_l1", 224, {"depths": (1, 1, 1, 2)}, {}),
    ("efficientformerv2_s0", 64, {"img_size": 64}, {}),
    ("efficientvit_b0", 64, {}, {}),
    ("efficientvit_m0", 224, {}, {}),
    ("edgenext_xx_small", 64, {}, {}),
    ("mobilevit_xxs", 64, {}, {}),
    ("mobilevitv2_050", 64, {}, {}),
    ("mobileone_s0", 64, {}, {}),
    ("fastvit_t8", 64, {}, {}),
    ("repvit_m0_9", 64, {}, {}),
    ("repvgg_a0", 32, {}, {}),
    ("tiny_vit_5m_224", 64, {}, {}),
    ("mobilenetv4_hybrid_medium", 64, {}, {}),
    ("dm_nfnet_f0", 32, {}, {}),
    ("res2net50_26w_4s", 32, {}, {}),
    ("resnest14d", 32, {}, {}),
    ("resnetv2_50", 32, {}, {}),
    ("seresnet50", 32, {}, {}),
    ("ecaresnet50t", 32, {}, {}),
    ("skresnet18", 32, {}, {}),
    ("hrnet_w18_small", 64, {}, {"quick": True}),
    ("dla34", 32, {}, {}),
    ("cspresnet50", 32, {}, {}),
    ("darknet53", 32, {}, {}),
    ("dpn68", 32, {}, {}),
    ("ese_vovnet19b_slim", 32, {}, {}),
    ("hardcorenas_a", 64, {}, {}),
    ("ghostnetv2_100", 64, {}, {}),
    ("selecsls42b", 32, {}, {}),
    ("tresnet_m", 64, {}, {}),
    ("xception41", 64, {}, {}),
    ("xception71", 64, {}, {}),
    ("inception_resnet_v2", 96, {}, {}),
    ("inception_v4", 96, {}, {}),
    ("nasnetalarge", 96, {}, {}),
    ("pnasnet5large", 96, {}, {}),
    ("rexnet_100", 64, {}, {}),
    ("lcnet_050", 64, {}, {}),
    ("tinynet_e", 64, {}, {}),
    ("mixnet_s", 64, {}, {}),
    ("gcresnet50t", 64, {}, {}),
    ("lambda_resnet26t", 128, {}, {}),
    ("halonet26t", 256, {}, {}),
    ("botnet26t_256", 256, {}, {}),
    ("eca_botnext26ts_256", 256, {}, {}),
    ("bat_resnext26ts", 256, {}, {}),
    ("convmixer_768_32", 64, {}, {}),
    ("convnextv2_atto", 64, {}, {}),
    ("inception_next_tiny", 64, {"depths": (1, 1, 1, 1)}, {}),
    ("hgnetv2_b0", 64, {}, {}),
    ("starnet_s1", 64, {}, {}),
    ("volo_d1_224", 64, {"img_size": 64}, {}),
    ("crossvit_tiny_240", 240, {}, {}),
    ("focalnet_tiny_srf", 64, {}, {}),
    # Sorts its tokens by reshaping them in a loop.
    ("hiera_tiny_224", 64, {"img_size": (64, 64)}, {"loops": 3}),
    ("eva02_tiny_patch14_224", 56, {"img_size": 56, "depth": 2}, {}),
    ("nest_tiny", 64, {"img_size": 64}, {}),
    ("pit_ti_224", 64, {"img_size": 64}, {}),
    ("twins_svt_small", 64, {"img_size": 64}, {}),
    ("twins_pcpvt_small", 64, {"img_size": 64}, {}),
    ("tnt_s_patch16_224", 64, {"img_size": 64, "depth": 2}, {}),
    ("visformer_tiny", 64, {"img_size": 64}, {}),
    ("davit_tiny", 64, {"depths": (1, 1, 1, 1)}, {}),
    ("maxxvit_rmlp_nano_rw_256", 64, {"img_size": 64}, {}),
    ("coatnet_nano_rw_224", 64, {"img_size": 64}, {}),
    ("mvitv2_tiny", 64, {"img_size": 64}, {}),
    ("gcvit_xxtiny", 64, {"img_size": 64}, {}),
    ("pvt_v2_b0", 64, {}, {}),
    ("sequencer2d_s", 64, {"img_size": 64}, {}),
    ("swinv2_tiny_window8_256", 64, {"img_size": 64, "depths": (2, 2)}, {}),
    ("swinv2_cr_tiny_224", 64, {"img_size": 64, "depths": (2, 2)}, {}),
    ("swiftformer_xs", 64, {}, {}),
    ("shvit_s1", 64, {}, {}),
    ("nextvit_small", 64, {}, {}),
    ("rdnet_tiny", 64, {}, {}),
    ("mambaout_femto", 64, {}, {}),
    ("vit_tiny_patch16_224", 32, {"img_size": 32, "depth": 2}, {"quick": True}),
    ("vit_small_r26_s32_224", 64, {"img_size": 64, "depth": 2}, {}),
    ("vit_relpos_small_patch16_224", 32, {"img_size": 32, "depth": 2}, {}),
    ("vit_base_patch16_siglip_224", 32, {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 4}, {}),
    ("samvit_base_patch16", 64, {"img_size": 64, "depth": 2, "embed_dim": 48, "num_heads": 4}, {}),
    ("naflexvit_base_patch16_gap", 64, {}, {}),
    ("vitamin_small_224", 64, {"img_size": 64}, {}),
    ("csatv2", 64, {}, {}),
)


def _make(name: str, size: int, options: dict[str, Any]) -> Example:
    model = load("timm").create_model(name, pretrained=False, num_classes=10, **options)
    return Example(model, (image(size),))


def _add(name: str, size: int, options: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"timm/{name}", **facts)
    def build() -> Example:
        return _make(name, size, options)


for _row in _ROWS:
    _add(*_row)
