"""torchvision: classification, segmentation, detection, video, optical flow.

Detectors only in training, and none with a region proposal: the rest needs nms, which belongs to
torchvision's compiled part, and tests/vision.py can only declare it.
"""

from __future__ import annotations

from typing import Any

import torch

from tests.zoo.specimen import Example, Shelf, image, load, video

SHELF = Shelf()


def _classifier(name: str, size: int = 64, *, batch: int = 1, **options: Any) -> Example:
    torchvision = load("torchvision")

    model = getattr(torchvision.models, name)(weights=None, num_classes=10, **options)
    return Example(model, (image(size, batch=batch),))


# name, and what its smallest or a telling example needs
_CLASSIFIERS: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("alexnet", {"size": 64}, {}),
    ("vgg11_bn", {"size": 32}, {}),
    ("resnet18", {}, {"quick": True}),
    ("resnet50", {}, {}),
    ("wide_resnet50_2", {}, {}),
    ("resnext50_32x4d", {}, {}),
    ("densenet121", {"size": 32}, {}),
    ("googlenet", {"init_weights": False, "aux_logits": False}, {}),
    ("inception_v3", {"size": 96, "init_weights": False, "aux_logits": False}, {}),
    ("mobilenet_v2", {}, {}),
    ("mobilenet_v3_small", {}, {"quick": True}),
    ("shufflenet_v2_x0_5", {}, {}),
    ("squeezenet1_1", {}, {}),
    ("efficientnet_b0", {}, {}),
    ("efficientnet_v2_s", {}, {}),
    ("regnet_y_400mf", {}, {}),
    ("mnasnet0_5", {}, {}),
    ("convnext_tiny", {}, {}),
    ("vit_b_16", {"size": 32, "image_size": 32}, {"notes": ("fused kernel",)}),
    # Both number the nine windows of their mask in a loop, each write on the last.
    ("swin_t", {}, {"loops": 9}),
    ("swin_v2_t", {}, {"loops": 9}),
    ("maxvit_t", {"size": 224}, {}),
)


def _add_classifier(name: str, options: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"torchvision/{name}", **facts)
    def build() -> Example:
        return _classifier(name, **options)


for _row in _CLASSIFIERS:
    _add_classifier(*_row)


@SHELF.add("torchvision/resnet18, training", training=True)
def _resnet18_training() -> Example:
    return _classifier("resnet18", batch=2)


@SHELF.add("torchvision/googlenet, training", training=True)
def _googlenet_training() -> Example:
    """With its two auxiliary heads."""
    return _classifier("googlenet", 64, batch=2, init_weights=False, aux_logits=True)


@SHELF.add("torchvision/densenet121, checkpointed training", training=True)
def _densenet_checkpointed() -> Example:
    """Each block runs under torch.utils.checkpoint."""
    return _classifier("densenet121", 32, batch=2, memory_efficient=True)


def _segmenter(name: str) -> Example:
    torchvision = load("torchvision")

    build = getattr(torchvision.models.segmentation, name)
    return Example(build(weights=None, weights_backbone=None, num_classes=5), (image(64),))


@SHELF.add("torchvision/fcn_resnet50")
def _fcn() -> Example:
    return _segmenter("fcn_resnet50")


@SHELF.add("torchvision/deeplabv3_mobilenet_v3_large")
def _deeplab() -> Example:
    return _segmenter("deeplabv3_mobilenet_v3_large")


@SHELF.add("torchvision/lraspp_mobilenet_v3_large")
def _lraspp() -> Example:
    return _segmenter("lraspp_mobilenet_v3_large")


def _video_classifier(name: str, frames: int, size: int, **options: Any) -> Example:
    torchvision = load("torchvision")

    model = getattr(torchvision.models.video, name)(weights=None, num_classes=10, **options)
    return Example(model, (video(frames, size),))


@SHELF.add("torchvision/r3d_18")
def _r3d() -> Example:
    return _video_classifier("r3d_18", 4, 32)


@SHELF.add("torchvision/r2plus1d_18")
def _r2plus1d() -> Example:
    return _video_classifier("r2plus1d_18", 4, 32)


@SHELF.add("torchvision/s3d")
def _s3d() -> Example:
    return _video_classifier("s3d", 16, 224)


@SHELF.add("torchvision/mvit_v2_s")
def _mvit() -> Example:
    torchvision = load("torchvision")

    mvit = torchvision.models.video.mvit
    blocks = [
        mvit.MSBlockConfig(
            num_heads=heads,
            input_channels=width,
            output_channels=width * heads,
            kernel_q=[3, 3, 3],
            kernel_kv=[3, 3, 3],
            stride_q=[1, stride, stride],
            stride_kv=[1, 2, 2],
        )
        for heads, width, stride in ((1, 16, 1), (2, 16, 2), (1, 32, 1))
    ]
    model = mvit.MViT(
        spatial_size=(32, 32),
        temporal_size=4,
        block_setting=blocks,
        residual_pool=True,
        residual_with_cls_embed=False,
        rel_pos_embed=True,
        proj_after_attn=True,
        num_classes=10,
    )
    return Example(model, (video(4, 32),))


@SHELF.add("torchvision/swin3d_t", loops=27)
def _swin3d() -> Example:
    torchvision = load("torchvision")

    model = torchvision.models.video.SwinTransformer3d(
        patch_size=[2, 4, 4],
        embed_dim=24,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=[2, 4, 4],
        num_classes=10,
    )
    return Example(model, (video(8, 32),))


@SHELF.add("torchvision/raft_small", loops=12, quick=True)
def _raft() -> Example:
    """Each of three flow updates runs the same recurrent block, and looks up four levels of a pyramid."""
    torchvision = load("torchvision")

    model = torchvision.models.optical_flow.raft_small(weights=None)
    return Example(model, (image(128), image(128)), {"num_flow_updates": 3})


@SHELF.add("torchvision/feature_pyramid")
def _feature_pyramid() -> Example:
    """A ResNet with a feature pyramid on it: the backbone of torchvision's detectors."""
    torchvision = load("torchvision")

    model = torchvision.models.detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, trainable_layers=5
    )
    return Example(model, (image(64),))


_ANCHORS = "the shapes of its anchors are plain attributes, not buffers"


def _detector(name: str) -> Example:
    """Two images with a box each; the result is the losses."""
    torchvision = load("torchvision")
    detection = torchvision.models.detection
    backbone = detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, trainable_layers=5
    )
    sizes = tuple((size,) for size in (8, 16, 32, 64, 128))
    ratios = ((1.0,),) * 5 if name == "FCOS" else ((0.5, 1.0, 2.0),) * 5
    anchors = detection.anchor_utils.AnchorGenerator(sizes, ratios)
    model = getattr(detection, name)(
        backbone, num_classes=3, anchor_generator=anchors, min_size=64, max_size=64
    )
    targets = [
        {"boxes": torch.tensor([[4.0, 6.0, 30.0, 40.0]]), "labels": torch.tensor([label])} for label in (1, 2)
    ]
    return Example(model, ([image(64)[0], image(64)[0]], targets))


@SHELF.add("torchvision/retinanet, training", training=True, sources=_ANCHORS)
def _retinanet() -> Example:
    return _detector("RetinaNet")


@SHELF.add("torchvision/fcos, training", training=True, sources=_ANCHORS)
def _fcos() -> Example:
    return _detector("FCOS")


@SHELF.add("torchvision/ssdlite, training", training=True, sources=_ANCHORS)
def _ssdlite() -> Example:
    model = load("torchvision").models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3
    )
    targets = [{"boxes": torch.tensor([[4.0, 6.0, 30.0, 40.0]]), "labels": torch.tensor([n])} for n in (1, 2)]
    return Example(model, ([image(64)[0], image(64)[0]], targets))
